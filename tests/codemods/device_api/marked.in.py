import torch
from diffusers.utils.testing_utils import require_torch_gpu


@require_torch_gpu
class TestPipe:
    def test_memory(self, pipe):
        torch.cuda.empty_cache()
        torch.cuda.reset_max_memory_allocated()
        pipe.to("cuda")
        assert torch.cuda.max_memory_allocated() < 2**30
