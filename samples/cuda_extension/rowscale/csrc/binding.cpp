#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>

#include <vector>

std::vector<torch::Tensor> rms_gate_forward_cuda(torch::Tensor x, torch::Tensor gate, double eps);
std::vector<torch::Tensor> rms_gate_backward_cuda(
    torch::Tensor grad, torch::Tensor x, torch::Tensor gate, torch::Tensor rstd);

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")

std::vector<torch::Tensor> rms_gate_forward(torch::Tensor x, torch::Tensor gate, double eps) {
  CHECK_INPUT(x);
  CHECK_INPUT(gate);
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  return rms_gate_forward_cuda(x, gate, eps);
}

std::vector<torch::Tensor> rms_gate_backward(
    torch::Tensor grad, torch::Tensor x, torch::Tensor gate, torch::Tensor rstd) {
  CHECK_INPUT(grad);
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  return rms_gate_backward_cuda(grad, x, gate, rstd);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("rms_gate_forward", &rms_gate_forward, "RMS norm with a SiLU gate (CUDA)");
  m.def("rms_gate_backward", &rms_gate_backward, "its gradient (CUDA)");
}
