"""Which anchor is to find which box, and what it costs when it does not."""

import torch
import torch.nn.functional as F

from boxes import box_iou, encode


def match(anchors, gt_boxes, high=0.5, low=0.35):
    """Per anchor: the index of its box, -1 for background, -2 for neither."""
    iou = box_iou(gt_boxes, anchors)
    best, index = iou.max(dim=0)
    index[best < low] = -1
    index[(best >= low) & (best < high)] = -2
    # every box gets its best anchor, however bad
    for gt in range(gt_boxes.shape[0]):
        index[iou[gt].argmax()] = gt
    return index


def detection_loss(logits, deltas, anchors, targets):
    """Classification over anchors that are not ignored, regression over positive ones."""
    cls_losses, box_losses = [], []
    for image_logits, image_deltas, (gt_boxes, gt_labels) in zip(logits, deltas, targets):
        matched = match(anchors, gt_boxes)
        positive = matched >= 0
        valid = matched != -2
        num_positive = max(1, positive.sum().item())

        cls_target = torch.zeros_like(image_logits)
        pos_index = torch.where(positive)[0]
        cls_target[pos_index, gt_labels[matched[pos_index]]] = 1.0
        cls_loss = F.binary_cross_entropy_with_logits(
            image_logits[valid], cls_target[valid], reduction="sum"
        )
        cls_losses.append(cls_loss / num_positive)

        if positive.any():
            target = encode(gt_boxes[matched[positive]], anchors[positive])
            box_loss = F.smooth_l1_loss(image_deltas[positive], target, reduction="sum")
            box_losses.append(box_loss / num_positive)
    cls_loss = torch.stack(cls_losses).mean()
    box_loss = torch.stack(box_losses).mean() if box_losses else deltas.sum() * 0
    return cls_loss, box_loss


def mean_best_iou(detections, targets):
    """How well the best detection covers each box, on average."""
    values = []
    for (boxes, _, _), (gt_boxes, _) in zip(detections, targets):
        for gt in gt_boxes:
            if len(boxes) == 0:
                values.append(0.0)
                continue
            values.append(box_iou(gt[None], boxes).max().item())
    return sum(values) / len(values)
