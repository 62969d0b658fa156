"""Images, loaders, and a prefetcher that copies and normalises on a side stream."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

MEAN = [0.4914, 0.4822, 0.4465]
STD = [0.2470, 0.2435, 0.2616]


class NpzImages(Dataset):
    """uint8 images (N, 3, 32, 32) and labels from an .npz file."""

    def __init__(self, path, split):
        with np.load(path) as file:
            self.images = torch.from_numpy(file[f"{split}_images"])
            self.labels = torch.from_numpy(file[f"{split}_labels"]).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


class SyntheticImages(Dataset):
    """Noise with a bright square whose place is the class."""

    def __init__(self, size, num_classes=10, seed=0):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, num_classes, size)
        images = rng.integers(0, 120, (size, 3, 32, 32), dtype=np.uint8)
        for image, label in zip(images, labels):
            row, column = divmod(int(label), 4)
            image[:, row * 10 : row * 10 + 8, column * 8 : column * 8 + 8] = 230
        self.images = torch.from_numpy(images)
        self.labels = torch.from_numpy(labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


def build_loaders(args):
    if args.data:
        train_set, val_set = NpzImages(args.data, "train"), NpzImages(args.data, "val")
    else:
        train_set, val_set = SyntheticImages(args.synthetic), SyntheticImages(256, seed=1)
    train_loader = DataLoader(
        train_set,
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        pin_memory=True,
    )
    val_loader = DataLoader(
        val_set,
        batch_size=args.batch_size,
        shuffle=False,
        num_workers=args.workers,
        pin_memory=True,
    )
    return train_loader, val_loader


class DataPrefetcher:
    """Hands out batches that are on the GPU already, the next one under way."""

    def __init__(self, loader, fp16=False):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.mean = torch.tensor([m * 255 for m in MEAN]).cuda().view(1, 3, 1, 1)
        self.std = torch.tensor([s * 255 for s in STD]).cuda().view(1, 3, 1, 1)
        self.fp16 = fp16
        if self.fp16:
            self.mean = self.mean.half()
            self.std = self.std.half()
        self.preload()

    def preload(self):
        try:
            self.next_input, self.next_target = next(self.loader)
        except StopIteration:
            self.next_input = None
            self.next_target = None
            return
        with torch.cuda.stream(self.stream):
            self.next_input = self.next_input.cuda(non_blocking=True)
            self.next_target = self.next_target.cuda(non_blocking=True)
            if self.fp16:
                self.next_input = self.next_input.half()
            else:
                self.next_input = self.next_input.float()
            self.next_input = self.next_input.sub_(self.mean).div_(self.std)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        input = self.next_input
        target = self.next_target
        if input is not None:
            input.record_stream(torch.cuda.current_stream())
        if target is not None:
            target.record_stream(torch.cuda.current_stream())
        self.preload()
        return input, target


class CpuFetcher:
    """The same interface without a GPU."""

    def __init__(self, loader):
        self.loader = iter(loader)
        self.mean = torch.tensor([m * 255 for m in MEAN]).view(1, 3, 1, 1)
        self.std = torch.tensor([s * 255 for s in STD]).view(1, 3, 1, 1)

    def next(self):
        try:
            input, target = next(self.loader)
        except StopIteration:
            return None, None
        return input.float().sub_(self.mean).div_(self.std), target
