"""Processes, seeds, backend switches, timing and memory."""

import math
import os
import random
import time

import numpy as np
import torch
import torch.distributed as dist

# dense bf16 FLOP/s from the vendor's data sheets
PEAK_FLOPS = {"A100": 312e12, "H100": 989e12}


def setup_distributed(device: str):
    """(rank, local_rank, world_size, device), from the environment that torchrun sets."""
    if "RANK" not in os.environ:
        return 0, 0, 1, torch.device(device)
    rank = int(os.environ["RANK"])
    local_rank = int(os.environ["LOCAL_RANK"])
    world_size = int(os.environ["WORLD_SIZE"])
    if device.startswith("cuda"):
        os.environ.setdefault("NCCL_ASYNC_ERROR_HANDLING", "1")
        torch.cuda.set_device(local_rank)
        dist.init_process_group(backend="nccl", init_method="env://")
        return rank, local_rank, world_size, torch.device(f"cuda:{local_rank}")
    dist.init_process_group(backend="gloo", init_method="env://")
    return rank, local_rank, world_size, torch.device(device)


def cleanup_distributed() -> None:
    if dist.is_available() and dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


def set_seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


def configure_backends(deterministic: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = not deterministic
    torch.backends.cudnn.allow_tf32 = not deterministic
    torch.backends.cudnn.benchmark = not deterministic
    torch.backends.cudnn.deterministic = deterministic
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_mem_efficient_sdp(True)
    if deterministic:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        torch.use_deterministic_algorithms(True)


def lr_at(step: int, cfg) -> float:
    if step < cfg.warmup:
        return cfg.lr * (step + 1) / cfg.warmup
    progress = (step - cfg.warmup) / max(1, cfg.steps - cfg.warmup)
    return cfg.min_lr + 0.5 * (cfg.lr - cfg.min_lr) * (1 + math.cos(math.pi * progress))


class StepTimer:
    """Milliseconds between start() and stop(): CUDA events on a GPU, the clock elsewhere."""

    def __init__(self, device: torch.device):
        self.cuda = device.type == "cuda"
        if self.cuda:
            self.begin = torch.cuda.Event(enable_timing=True)
            self.end = torch.cuda.Event(enable_timing=True)

    def start(self) -> None:
        if self.cuda:
            self.begin.record()
        else:
            self.begin = time.perf_counter()

    def stop(self) -> float:
        if self.cuda:
            self.end.record()
            torch.cuda.synchronize()
            return self.begin.elapsed_time(self.end)
        return (time.perf_counter() - self.begin) * 1e3


def memory_report(device: torch.device) -> str:
    if device.type != "cuda":
        return ""
    allocated = torch.cuda.max_memory_allocated(device) / 2**20
    reserved = torch.cuda.memory_reserved(device) / 2**20
    free, total = torch.cuda.mem_get_info(device)
    torch.cuda.reset_peak_memory_stats(device)
    return f" | mem {allocated:.0f}/{reserved:.0f} MiB, {free / total:.0%} free"


def describe_device(device: torch.device) -> str:
    if device.type != "cuda":
        return f"{device.type}, {torch.get_num_threads()} threads"
    props = torch.cuda.get_device_properties(device)
    major, minor = torch.cuda.get_device_capability(device)
    return (
        f"{torch.cuda.get_device_name(device)} x{torch.cuda.device_count()}, "
        f"sm_{major}{minor}, {props.total_memory / 2**30:.0f} GiB, "
        f"{props.multi_processor_count} SMs, CUDA {torch.version.cuda}"
    )


def mfu(n_params: int, tokens: int, ms: float, device: torch.device) -> str:
    """Share of the GPU's peak that 6ND model FLOPs reach; nothing for devices not listed."""
    if device.type != "cuda":
        return ""
    name = torch.cuda.get_device_name(device)
    for key, peak in PEAK_FLOPS.items():
        if key in name:
            return f" | mfu {6 * n_params * tokens / (ms / 1e3) / peak:.1%}"
    return ""
