#!/usr/bin/env bash
# One node, all its GPUs: ./launch.sh [arguments of train.py]
set -euo pipefail
cd "$(dirname "$0")"

export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0,1,2,3,4,5,6,7}"
export CUDA_DEVICE_MAX_CONNECTIONS=1
export NCCL_DEBUG="${NCCL_DEBUG:-WARN}"
export NCCL_IB_DISABLE="${NCCL_IB_DISABLE:-0}"
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-8}"

GPUS=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv

torchrun --standalone --nproc_per_node="$GPUS" train.py \
    --device cuda --dtype bfloat16 --compile --num-workers 4 "$@"
