import torch


def rope_params(length, dim):
    freqs = torch.outer(torch.arange(length), 1.0 / 10000.0 ** (torch.arange(0, dim, 2).double() / dim))
    freqs = torch.polar(torch.ones_like(freqs), freqs)
    return freqs


def rope_apply(x, freqs):
    n, c = x.size(2), x.size(3) // 2
    freqs = freqs.split([c - c // 2, c // 2], dim=1)
    freqs = torch.cat([freqs[0][: x.size(1)], freqs[1][: x.size(1)]], dim=-1).reshape(1, x.size(1), 1, -1)
    x_i = torch.view_as_complex(x.to(torch.float64).reshape(x.size(0), x.size(1), n, -1, 2))
    x_i = torch.view_as_real(x_i * freqs).flatten(3)
    return x_i.float()


def table(length, dim):
    a = torch.outer(torch.arange(length), torch.arange(1, dim // 2 + 1).float())
    cis = torch.polar(torch.ones_like(a), a)
    return torch.stack([cis.real, cis.imag], dim=-1)


def turn(x, angles_cis=None):
    if angles_cis is None:
        return x
    dtype = x.dtype
    x = torch.view_as_complex(
        x.float().view(*x.shape[:-1], -1, 2)  # pairs
    )
    angles_cis = angles_cis.view(1, x.size(1), 1, x.size(-1))
    y = x * angles_cis
    return torch.view_as_real(y).flatten(3).to(dtype)


def main(x):
    a = torch.outer(torch.arange(x.shape[1]), torch.arange(x.shape[3] // 2) + 0.5)
    angles_cis = torch.polar(torch.ones_like(a), a)
    turned = turn(x, angles_cis=angles_cis[: x.shape[1]])
    return turned, turn(x), rope_apply(x, rope_params(9, x.shape[3])), table(4, 6)
