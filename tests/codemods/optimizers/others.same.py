import bitsandbytes as bnb


def make(model, lr):
    a = bnb.optim.Lion8bit(model.parameters(), lr=lr)
    b = bnb.optim.AdamW8bit(model.parameters(), lr=lr, percentile_clipping=5)
    return a, b
