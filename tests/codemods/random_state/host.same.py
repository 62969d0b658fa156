import torch


def pack(net, opt):
    return {"net": net.state_dict(), "opt": opt.state_dict(), "rng": torch.get_rng_state()}
