"""Operations on boxes (x1, y1, x2, y2)."""

import torch

try:
    from torchvision.ops import nms
except ImportError:

    def nms(boxes, scores, iou_threshold):
        """Indices of the boxes to keep, best first."""
        order = scores.argsort(descending=True)
        keep = []
        while order.numel() > 0:
            best = order[0]
            keep.append(best)
            if order.numel() == 1:
                break
            rest = order[1:]
            iou = box_iou(boxes[best].unsqueeze(0), boxes[rest]).squeeze(0)
            order = rest[iou <= iou_threshold]
        if not keep:
            return torch.zeros(0, dtype=torch.long, device=boxes.device)
        return torch.stack(keep)


def box_area(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def box_iou(a, b):
    """IoU of every box of a with every box of b."""
    top_left = torch.max(a[:, None, :2], b[None, :, :2])
    bottom_right = torch.min(a[:, None, 2:], b[None, :, 2:])
    size = (bottom_right - top_left).clamp(min=0)
    inter = size[..., 0] * size[..., 1]
    return inter / (box_area(a)[:, None] + box_area(b)[None, :] - inter).clamp(min=1e-6)


def clip_boxes(boxes, height, width):
    boxes[:, 0::2] = boxes[:, 0::2].clamp(0, width)
    boxes[:, 1::2] = boxes[:, 1::2].clamp(0, height)
    return boxes


def remove_small(boxes, min_size):
    """Indices of the boxes whose sides are both at least min_size."""
    width = boxes[:, 2] - boxes[:, 0]
    height = boxes[:, 3] - boxes[:, 1]
    return torch.where((width >= min_size) & (height >= min_size))[0]


def batched_nms(boxes, scores, labels, iou_threshold):
    """NMS per class: boxes of different classes are moved apart."""
    if boxes.numel() == 0:
        return torch.zeros(0, dtype=torch.long, device=boxes.device)
    offset = labels.to(boxes) * (boxes.max() + 1)
    return nms(boxes + offset[:, None], scores, iou_threshold)


def encode(boxes, anchors):
    """Boxes as offsets from their anchors."""
    anchor_size = anchors[:, 2:] - anchors[:, :2]
    anchor_center = anchors[:, :2] + anchor_size / 2
    size = boxes[:, 2:] - boxes[:, :2]
    center = boxes[:, :2] + size / 2
    return torch.cat(
        [(center - anchor_center) / anchor_size, torch.log(size / anchor_size)], dim=1
    )


def decode(deltas, anchors):
    anchor_size = anchors[:, 2:] - anchors[:, :2]
    anchor_center = anchors[:, :2] + anchor_size / 2
    center = deltas[:, :2] * anchor_size + anchor_center
    size = torch.exp(deltas[:, 2:].clamp(max=4.0)) * anchor_size
    return torch.cat([center - size / 2, center + size / 2], dim=1)
