import torch


def main(args):
    use_cuda = not args.no_accel and torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    return device
