"""A small one-stage detector."""

import torch
import torch.nn as nn

from boxes import batched_nms, clip_boxes, decode, remove_small


def conv(in_channels, out_channels, stride=1):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(inplace=True),
    )


class AnchorGenerator(nn.Module):
    """One anchor per size and cell of the feature map."""

    def __init__(self, sizes=(12.0, 20.0), stride=8):
        super().__init__()
        self.stride = stride
        self.register_buffer("sizes", torch.tensor(sizes))

    def forward(self, features):
        height, width = features.shape[-2:]
        device = features.device
        xs = (torch.arange(width, device=device) + 0.5) * self.stride
        ys = (torch.arange(height, device=device) + 0.5) * self.stride
        cy, cx = torch.meshgrid(ys, xs, indexing="ij")
        center = torch.stack([cx, cy], dim=-1).reshape(-1, 1, 2)
        half = (self.sizes / 2).view(1, -1, 1)
        return torch.cat([center - half, center + half], dim=-1).reshape(-1, 4)


class Detector(nn.Module):
    def __init__(self, num_classes=2, width=16, score_threshold=0.3, nms_threshold=0.4, top_k=100):
        super().__init__()
        self.num_classes = num_classes
        self.score_threshold = score_threshold
        self.nms_threshold = nms_threshold
        self.top_k = top_k
        self.backbone = nn.Sequential(
            conv(3, width, 2), conv(width, 2 * width, 2), conv(2 * width, 4 * width, 2)
        )
        self.anchors = AnchorGenerator()
        per_cell = len(self.anchors.sizes)
        self.cls_head = nn.Conv2d(4 * width, per_cell * num_classes, 1)
        self.box_head = nn.Conv2d(4 * width, per_cell * 4, 1)
        nn.init.constant_(self.cls_head.bias, -3.0)

    def forward(self, images):
        """(logits (B, A, C), deltas (B, A, 4), anchors (A, 4))."""
        features = self.backbone(images)
        batch = images.shape[0]
        logits = self.cls_head(features).permute(0, 2, 3, 1).reshape(batch, -1, self.num_classes)
        deltas = self.box_head(features).permute(0, 2, 3, 1).reshape(batch, -1, 4)
        return logits, deltas, self.anchors(features)

    @torch.no_grad()
    def detect(self, images):
        """Per image: boxes, scores, labels, as many as there are."""
        logits, deltas, anchors = self(images)
        height, width = images.shape[-2:]
        results = []
        for image_logits, image_deltas in zip(logits, deltas):
            scores = torch.sigmoid(image_logits)
            index = torch.nonzero(scores > self.score_threshold)
            anchor_index, labels = index[:, 0], index[:, 1]
            scores = scores[anchor_index, labels]
            boxes = decode(image_deltas[anchor_index], anchors[anchor_index])
            boxes = clip_boxes(boxes, height, width)
            keep = remove_small(boxes, 2.0)
            boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
            keep = batched_nms(boxes, scores, labels, self.nms_threshold)[: self.top_k]
            results.append((boxes[keep], scores[keep], labels[keep]))
        return results
