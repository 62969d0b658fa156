"""Train a small GPT: one process, or one per GPU under torchrun.

    python train.py --device cpu --steps 20
    torchrun --standalone --nproc_per_node=8 train.py --compile
"""

import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from checkpoint import load_checkpoint, save_checkpoint, unwrap
from config import parse_config
from data import build_loaders, cycle, to_device
from model import GPT, GPTConfig
from utils import (
    StepTimer,
    cleanup_distributed,
    configure_backends,
    describe_device,
    lr_at,
    memory_report,
    mfu,
    set_seed,
    setup_distributed,
)


@torch.no_grad()
def evaluate(model, loader, device, amp, max_batches):
    model.eval()
    losses = []
    for i, (x, y) in enumerate(loader):
        if i == max_batches:
            break
        x = x.to(device, non_blocking=True)
        y = y.to(device, non_blocking=True)
        with amp:
            _, loss = model(x, y)
        losses.append(loss.item())
    model.train()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return sum(losses) / max(1, len(losses))


def make_profiler(cfg):
    if not cfg.profile:
        return nullcontext()
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    return torch.profiler.profile(
        activities=activities,
        schedule=torch.profiler.schedule(wait=5, warmup=5, active=5),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(os.path.join(cfg.out_dir, "trace")),
        profile_memory=True,
    )


def main():
    cfg = parse_config()
    rank, local_rank, world_size, device = setup_distributed(cfg.device)
    master = rank == 0
    set_seed(cfg.seed + rank)
    configure_backends(cfg.deterministic)
    if device.type == "cpu":
        torch.set_num_threads(cfg.cpu_threads)

    train_loader, val_loader, sampler, vocab = build_loaders(cfg, rank, world_size)
    model = GPT(
        GPTConfig(
            vocab_size=len(vocab),
            block_size=cfg.block_size,
            n_layer=cfg.n_layer,
            n_head=cfg.n_head,
            n_embd=cfg.n_embd,
            dropout=cfg.dropout,
            bias=cfg.bias,
            flash=cfg.flash,
        )
    )
    n_params = model.num_params()
    model = model.cuda(local_rank) if device.type == "cuda" else model.to(device)
    optimizer = model.configure_optimizer(
        cfg.weight_decay, cfg.lr, (cfg.beta1, cfg.beta2), device.type
    )

    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[cfg.dtype]
    amp = torch.autocast(device_type="cuda", dtype=dtype) if device.type == "cuda" else nullcontext()
    scaler = torch.amp.GradScaler("cuda", enabled=device.type == "cuda" and cfg.dtype == "float16")

    ckpt_path = os.path.join(cfg.out_dir, "ckpt.pt")
    start = 0
    if cfg.resume:
        start = load_checkpoint(ckpt_path, model, optimizer, scaler, local_rank)
    if cfg.compile:
        model = torch.compile(model, mode=cfg.compile_mode)
    if world_size > 1:
        ids = [local_rank] if device.type == "cuda" else None
        model = DDP(model, device_ids=ids, gradient_as_bucket_view=True)

    if master:
        print(f"{describe_device(device)} | {world_size} process(es) | {n_params / 1e6:.2f} M parameters")

    batches = to_device(cycle(train_loader, sampler), device)
    timer = StepTimer(device)
    tokens_per_step = cfg.batch_size * cfg.block_size * cfg.grad_accum * world_size
    model.train()
    with make_profiler(cfg) as prof:
        for step in range(start, cfg.steps):
            lr = lr_at(step, cfg)
            for group in optimizer.param_groups:
                group["lr"] = lr

            timer.start()
            total = 0.0
            for micro in range(cfg.grad_accum):
                x, y = next(batches)
                if world_size > 1:
                    # all-reduce only with the last micro-batch
                    model.require_backward_grad_sync = micro == cfg.grad_accum - 1
                torch.cuda.nvtx.range_push("forward") if device.type == "cuda" else None
                with amp:
                    _, loss = model(x, y)
                    loss = loss / cfg.grad_accum
                torch.cuda.nvtx.range_pop() if device.type == "cuda" else None
                scaler.scale(loss).backward()
                total += loss.item()
            if cfg.grad_clip > 0:
                scaler.unscale_(optimizer)
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
                if not torch.isfinite(norm) and not scaler.is_enabled():
                    raise RuntimeError(f"gradient norm is {norm.item()} at step {step}")
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            ms = timer.stop()

            if world_size > 1:
                mean = torch.tensor(total, device=device)
                dist.all_reduce(mean, op=dist.ReduceOp.SUM)
                total = mean.item() / world_size
            if master and step % cfg.log_every == 0:
                print(
                    f"step {step:5d} | loss {total:.4f} | lr {lr:.2e} | {ms:7.1f} ms | "
                    f"{tokens_per_step / ms * 1e3:,.0f} tok/s"
                    f"{mfu(n_params, tokens_per_step // world_size, ms, device)}{memory_report(device)}",
                    flush=True,
                )
            if master and (step + 1) % cfg.eval_every == 0:
                val = evaluate(unwrap(model), val_loader, device, amp, cfg.eval_batches)
                print(f"step {step:5d} | val loss {val:.4f}", flush=True)
            if master and (step + 1) % cfg.save_every == 0:
                save_checkpoint(ckpt_path, model, optimizer, scaler, step + 1, cfg)
            if prof is not None:
                prof.step()

    if master:
        save_checkpoint(ckpt_path, model, optimizer, scaler, cfg.steps, cfg)
    cleanup_distributed()


if __name__ == "__main__":
    main()
