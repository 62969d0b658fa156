def transfer(batch, gpu_id):
    if callable(getattr(batch, "cuda", None)):
        return batch.cuda(gpu_id)
    return batch
