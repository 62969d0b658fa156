"""Train the detector to find squares."""

import argparse
import os

import torch

from losses import detection_loss, mean_best_iou
from model import Detector


def make_batch(batch_size, size, generator, device):
    """Noise with one to four squares, red ones and green ones."""
    images = torch.rand(batch_size, 3, size, size, generator=generator) * 0.3
    targets = []
    for image in images:
        count = int(torch.randint(1, 5, (1,), generator=generator))
        boxes, labels = [], []
        for _ in range(count):
            side = int(torch.randint(10, 24, (1,), generator=generator))
            x, y = torch.randint(0, size - side, (2,), generator=generator).tolist()
            label = int(torch.randint(0, 2, (1,), generator=generator))
            image[label, y : y + side, x : x + side] = 1.0
            boxes.append([x, y, x + side, y + side])
            labels.append(label)
        targets.append(
            (
                torch.tensor(boxes, dtype=torch.float32).to(device),
                torch.tensor(labels).to(device),
            )
        )
    return images.to(device), targets


def main():
    parser = argparse.ArgumentParser(description="Train a small detector")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="out")
    args = parser.parse_args()

    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu":
        torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)

    model = Detector().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model.train()
    for step in range(args.steps):
        images, targets = make_batch(args.batch_size, args.size, generator, device)
        logits, deltas, anchors = model(images)
        cls_loss, box_loss = detection_loss(logits, deltas, anchors, targets)
        loss = cls_loss + box_loss
        if torch.isnan(loss):
            raise RuntimeError(f"loss is NaN at step {step}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0 or step == args.steps - 1:
            print(
                f"step {step:4d} | loss {loss.item():.4f} | cls {cls_loss.item():.4f} | "
                f"box {box_loss.item():.4f}",
                flush=True,
            )

    model.eval()
    images, targets = make_batch(args.batch_size, args.size, generator, device)
    detections = model.detect(images)
    boxes = sum(len(b) for b, _, _ in detections)
    print(f"{boxes} boxes in {len(images)} images | best IoU {mean_best_iou(detections, targets):.3f}")
    os.makedirs(args.out, exist_ok=True)
    torch.save(model.state_dict(), os.path.join(args.out, "detector.pt"))


if __name__ == "__main__":
    main()
