import torch
from diffusers.utils.testing_utils import require_torch_gpu
from neuron_device import empty_cache, get_device, max_memory_allocated, reset_peak_memory_stats


@require_torch_gpu
class TestPipe:
    def test_memory(self, pipe):
        empty_cache()
        reset_peak_memory_stats()
        pipe.to(get_device())
        assert max_memory_allocated() < 2**30
