import torch
from neuron_device import (
    device_rng_state,
    device_rng_states,
    set_device_rng_state,
    set_device_rng_states,
)


def save(path):
    torch.save({"cpu": torch.get_rng_state(), "cuda": device_rng_states()}, path)


def resume(blob):
    torch.set_rng_state(blob["cpu"])
    set_device_rng_states(blob["cuda"])


def around(f, x):
    state = device_rng_state()
    y = f(x)
    set_device_rng_state(state)
    return y
