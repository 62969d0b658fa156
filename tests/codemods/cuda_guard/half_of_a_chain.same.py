import torch


def place(model: torch.nn.Module, images: torch.Tensor, args):
    if not torch.cuda.is_available() and not torch.backends.mps.is_available():
        print("using CPU, this will be slow")
    elif args.gpu is not None and torch.cuda.is_available():
        model = model.cuda(args.gpu)
    if torch.cuda.is_available():
        device = torch.device("cuda")
    elif torch.backends.mps.is_available():
        device = torch.device("mps")
    else:
        device = torch.device("cpu")
    criterion = torch.nn.CrossEntropyLoss().to(device)
    if args.gpu is not None and torch.cuda.is_available():
        images = images.cuda(args.gpu, non_blocking=True)
    return criterion(model(images), images)
