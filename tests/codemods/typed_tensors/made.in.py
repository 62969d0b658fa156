import torch


def make(rows, columns, x):
    a = torch.cuda.FloatTensor(rows, columns).fill_(1.0)
    b = torch.cuda.LongTensor([1, 2, 3])  # ids
    c = torch.cuda.HalfTensor(x.shape).zero_()
    d = torch.cuda.IntTensor()
    return a, b, c, d
