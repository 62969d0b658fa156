import torch


def make(x, n, cuda):
    Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor
    assert isinstance(x, (torch.LongTensor, torch.cuda.LongTensor))
    return torch.cuda.FloatTensor(x), torch.cuda.FloatTensor(*n), Tensor(3)
