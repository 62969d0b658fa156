import os

from setuptools import find_packages, setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CUDAExtension

os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "7.0;8.0;8.6;9.0")

ext_modules = []
if CUDA_HOME is not None:
    ext_modules.append(
        CUDAExtension(
            name="rowscale._C",
            sources=["rowscale/csrc/binding.cpp", "rowscale/csrc/rms_gate.cu"],
            extra_compile_args={
                "cxx": ["-O3", "-std=c++17"],
                "nvcc": ["-O3", "--use_fast_math", "-lineinfo"],
            },
        )
    )

setup(
    name="rowscale",
    version="0.1.0",
    packages=find_packages(include=["rowscale"]),
    ext_modules=ext_modules,
    cmdclass={"build_ext": BuildExtension},
    install_requires=["torch>=2.4"],
)
