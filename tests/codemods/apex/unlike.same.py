from apex.optimizers import FusedAdam, FusedLAMB


def main(model, mode, **words):
    a = FusedLAMB(model.parameters(), lr=1e-3)
    b = FusedAdam(model.parameters(), bias_correction=False)
    c = FusedAdam(model.parameters(), adam_w_mode=mode)
    d = FusedAdam(model.parameters(), **words)
    e = FusedAdam(model.parameters(), master_weights=True)
    return a, b, c, d, e, FusedAdam
