"""Train a small ResNet: apex, DataParallel, a CUDA prefetcher; a CPU will do for a try."""

import argparse
import os
import time

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn

try:
    from apex import amp
    from apex.optimizers import FusedAdam

    HAS_APEX = True
except ImportError:
    HAS_APEX = False

from data import CpuFetcher, DataPrefetcher, build_loaders
from resnet import ResNet
from utils import AverageMeter, accuracy, load_checkpoint, save_checkpoint

parser = argparse.ArgumentParser(description="ResNet on small images")
parser.add_argument("--data", default="", help="an .npz file; without it images are made up")
parser.add_argument("--synthetic", default=512, type=int, help="how many images to make up")
parser.add_argument("-j", "--workers", default=0, type=int)
parser.add_argument("--epochs", default=2, type=int)
parser.add_argument("-b", "--batch-size", default=32, type=int)
parser.add_argument("--lr", default=3e-3, type=float)
parser.add_argument("--weight-decay", default=1e-4, type=float)
parser.add_argument("--print-freq", default=4, type=int)
parser.add_argument("--resume", default="", help="a checkpoint to go on from")
parser.add_argument("-e", "--evaluate", action="store_true", help="only evaluate")
parser.add_argument("--gpu", default="0", help="GPUs to use")
parser.add_argument("--seed", default=0, type=int)
parser.add_argument("--amp-level", default="O1", help="apex optimization level")
parser.add_argument("--out", default="out")


def train(train_loader, model, criterion, optimizer, epoch, args, use_cuda, use_amp):
    batch_time, losses, top1, top5 = AverageMeter(), AverageMeter(), AverageMeter(), AverageMeter()
    model.train()
    end = time.time()
    prefetcher = DataPrefetcher(train_loader) if use_cuda else CpuFetcher(train_loader)
    input, target = prefetcher.next()
    i = 0
    while input is not None:
        output = model(input)
        loss = criterion(output, target)
        prec1, prec5 = accuracy(output, target, topk=(1, 5))
        losses.update(loss.item(), input.size(0))
        top1.update(prec1, input.size(0))
        top5.update(prec5, input.size(0))

        optimizer.zero_grad()
        if use_amp:
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
        else:
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()

        if use_cuda:
            torch.cuda.synchronize()
        batch_time.update(time.time() - end)
        end = time.time()
        if i % args.print_freq == 0:
            print(
                f"epoch {epoch} [{i}/{len(train_loader)}] time {batch_time.avg:.3f} "
                f"loss {losses.val:.4f} ({losses.avg:.4f}) "
                f"prec@1 {top1.avg:.2f} prec@5 {top5.avg:.2f}",
                flush=True,
            )
        input, target = prefetcher.next()
        i += 1
    return losses.avg


def validate(val_loader, model, criterion, use_cuda):
    losses, top1 = AverageMeter(), AverageMeter()
    model.eval()
    prefetcher = DataPrefetcher(val_loader) if use_cuda else CpuFetcher(val_loader)
    input, target = prefetcher.next()
    while input is not None:
        with torch.no_grad():
            output = model(input)
            loss = criterion(output, target)
        losses.update(loss.item(), input.size(0))
        top1.update(accuracy(output, target)[0], input.size(0))
        input, target = prefetcher.next()
    print(f"val loss {losses.avg:.4f} prec@1 {top1.avg:.2f}", flush=True)
    return top1.avg


def main():
    args = parser.parse_args()
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu
    use_cuda = torch.cuda.is_available()
    use_amp = use_cuda and HAS_APEX
    torch.manual_seed(args.seed)
    torch.cuda.manual_seed_all(args.seed)
    if not use_cuda:
        torch.set_num_threads(1)  # the model is too small to gain from more
    cudnn.benchmark = True

    train_loader, val_loader = build_loaders(args)
    model = ResNet()
    criterion = nn.CrossEntropyLoss()
    if use_cuda:
        model = model.cuda()
        criterion = criterion.cuda()
    if use_amp:
        optimizer = FusedAdam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
        model, optimizer = amp.initialize(
            model, optimizer, opt_level=args.amp_level, loss_scale="dynamic"
        )
    else:
        optimizer = torch.optim.Adam(
            model.parameters(), lr=args.lr, weight_decay=args.weight_decay
        )
    model = nn.DataParallel(model)

    start_epoch, best_prec1 = 0, 0.0
    if args.resume:
        start_epoch, best_prec1 = load_checkpoint(args.resume, model, optimizer)
    if args.evaluate:
        validate(val_loader, model, criterion, use_cuda)
        return

    for epoch in range(start_epoch, args.epochs):
        train(train_loader, model, criterion, optimizer, epoch, args, use_cuda, use_amp)
        prec1 = validate(val_loader, model, criterion, use_cuda)
        is_best = prec1 > best_prec1
        best_prec1 = max(prec1, best_prec1)
        state = {
            "epoch": epoch + 1,
            "state_dict": model.state_dict(),
            "best_prec1": best_prec1,
            "optimizer": optimizer.state_dict(),
        }
        if use_amp:
            state["amp"] = amp.state_dict()
        save_checkpoint(state, is_best, args.out)
    print(f"best prec@1 {best_prec1:.2f}", flush=True)


if __name__ == "__main__":
    main()
