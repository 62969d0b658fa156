"""Characters to batches: vocabulary, dataset, loaders and a prefetcher."""

import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Vocabulary:
    def __init__(self, text: str):
        self.chars = sorted(set(text))
        self.index = {c: i for i, c in enumerate(self.chars)}

    def __len__(self) -> int:
        return len(self.chars)

    def encode(self, text: str) -> list[int]:
        return [self.index[c] for c in text]

    def decode(self, ids) -> str:
        return "".join(self.chars[int(i)] for i in ids)


class CharDataset(Dataset):
    """Overlapping windows of ``block_size`` characters, the target one ahead."""

    def __init__(self, ids: torch.Tensor, block_size: int, stride: int):
        self.ids = ids
        self.block_size = block_size
        self.starts = range(0, len(ids) - block_size - 1, stride)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, i: int):
        start = self.starts[i]
        chunk = self.ids[start : start + self.block_size + 1]
        return chunk[:-1], chunk[1:]


def seed_worker(worker_id: int) -> None:
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def build_loaders(cfg, rank: int, world_size: int):
    with open(cfg.corpus, encoding="utf-8") as file:
        text = file.read()
    vocab = Vocabulary(text)
    ids = torch.tensor(vocab.encode(text), dtype=torch.long)
    split = int(len(ids) * (1 - cfg.val_fraction))
    train_set = CharDataset(ids[:split], cfg.block_size, stride=cfg.block_size // 4)
    val_set = CharDataset(ids[split:], cfg.block_size, stride=cfg.block_size)

    sampler = None
    if world_size > 1:
        sampler = DistributedSampler(train_set, num_replicas=world_size, rank=rank, seed=cfg.seed)
    generator = torch.Generator()
    generator.manual_seed(cfg.seed)
    pin = torch.cuda.is_available()
    train_loader = DataLoader(
        train_set,
        batch_size=cfg.batch_size,
        shuffle=sampler is None,
        sampler=sampler,
        num_workers=cfg.num_workers,
        pin_memory=pin,
        persistent_workers=cfg.num_workers > 0,
        worker_init_fn=seed_worker,
        generator=generator,
        drop_last=True,
    )
    val_loader = DataLoader(val_set, batch_size=cfg.batch_size, pin_memory=pin)
    return train_loader, val_loader, sampler, vocab


def cycle(loader, sampler=None):
    """Batches without end, reshuffled each epoch."""
    epoch = 0
    while True:
        if sampler is not None:
            sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


class CUDAPrefetcher:
    """Copies the next batch on a side stream while the current one is computed."""

    def __init__(self, batches, device):
        self.batches = iter(batches)
        self.device = device
        self.stream = torch.cuda.Stream(device=device)
        self._preload()

    def _preload(self) -> None:
        try:
            x, y = next(self.batches)
        except StopIteration:
            self.next = None
            return
        with torch.cuda.stream(self.stream):
            self.next = (
                x.cuda(self.device, non_blocking=True),
                y.cuda(self.device, non_blocking=True),
            )

    def __iter__(self):
        return self

    def __next__(self):
        torch.cuda.current_stream(self.device).wait_stream(self.stream)
        if self.next is None:
            raise StopIteration
        x, y = self.next
        x.record_stream(torch.cuda.current_stream(self.device))
        y.record_stream(torch.cuda.current_stream(self.device))
        self._preload()
        return x, y


def to_device(batches, device):
    """Batches on ``device``, by the prefetcher on a GPU."""
    if device.type == "cuda":
        return CUDAPrefetcher(batches, device)
    return ((x.to(device), y.to(device)) for x, y in batches)
