#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

#include <vector>

constexpr int kThreads = 256;
constexpr int kWarp = 32;

__inline__ __device__ float warp_sum(float value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffff, value, offset);
  }
  return value;
}

__inline__ __device__ float block_sum(float value) {
  __shared__ float partial[kThreads / kWarp];
  __shared__ float total;
  value = warp_sum(value);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    total = 0.f;
    for (int i = 0; i < kThreads / kWarp; ++i) total += partial[i];
  }
  __syncthreads();
  return total;
}

template <typename scalar_t>
__global__ void forward_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ gate,
                               scalar_t* __restrict__ y, float* __restrict__ rstd, int width,
                               float eps) {
  const int64_t row = blockIdx.x;
  const scalar_t* xr = x + row * width;
  float sum = 0.f;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    const float v = static_cast<float>(xr[i]);
    sum += v * v;
  }
  const float r = rsqrtf(block_sum(sum) / width + eps);
  if (threadIdx.x == 0) rstd[row] = r;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    const float g = static_cast<float>(gate[row * width + i]);
    const float silu = g / (1.f + __expf(-g));
    y[row * width + i] = static_cast<scalar_t>(static_cast<float>(xr[i]) * r * silu);
  }
}

template <typename scalar_t>
__global__ void backward_kernel(const scalar_t* __restrict__ grad, const scalar_t* __restrict__ x,
                                const scalar_t* __restrict__ gate, const float* __restrict__ rstd,
                                scalar_t* __restrict__ dx, scalar_t* __restrict__ dgate,
                                int width) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * width;
  const float r = rstd[blockIdx.x];
  float sum = 0.f;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    const float g = static_cast<float>(gate[at + i]);
    const float sig = 1.f / (1.f + __expf(-g));
    sum += static_cast<float>(grad[at + i]) * g * sig * static_cast<float>(x[at + i]);
  }
  const float dot = block_sum(sum) * r * r / width;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    const float v = static_cast<float>(x[at + i]);
    const float g = static_cast<float>(gate[at + i]);
    const float d = static_cast<float>(grad[at + i]);
    const float sig = 1.f / (1.f + __expf(-g));
    dx[at + i] = static_cast<scalar_t>(r * (d * g * sig - v * dot));
    dgate[at + i] = static_cast<scalar_t>(d * v * r * sig * (1.f + g * (1.f - sig)));
  }
}

std::vector<torch::Tensor> rms_gate_forward_cuda(torch::Tensor x, torch::Tensor gate, double eps) {
  const int width = x.size(-1);
  const int rows = x.numel() / width;
  auto y = torch::empty_like(x);
  auto rstd = torch::empty({rows}, x.options().dtype(torch::kFloat32));
  auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, x.scalar_type(), "rms_gate_forward", [&] {
        forward_kernel<scalar_t><<<rows, kThreads, 0, stream>>>(
            x.data_ptr<scalar_t>(), gate.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(),
            rstd.data_ptr<float>(), width, static_cast<float>(eps));
      });
  return {y, rstd};
}

std::vector<torch::Tensor> rms_gate_backward_cuda(
    torch::Tensor grad, torch::Tensor x, torch::Tensor gate, torch::Tensor rstd) {
  const int width = x.size(-1);
  const int rows = x.numel() / width;
  auto dx = torch::empty_like(x);
  auto dgate = torch::empty_like(gate);
  auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, x.scalar_type(), "rms_gate_backward", [&] {
        backward_kernel<scalar_t><<<rows, kThreads, 0, stream>>>(
            grad.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), gate.data_ptr<scalar_t>(),
            rstd.data_ptr<float>(), dx.data_ptr<scalar_t>(), dgate.data_ptr<scalar_t>(), width);
      });
  return {dx, dgate};
}
