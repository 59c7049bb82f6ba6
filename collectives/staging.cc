#include "collectives/staging.h"

#include <cstring>

#include "collectives/reduce/kernels.h"
#include "comm/base/random.h"

namespace paceline {
namespace {

// Of all that go together: no more than stays in the cache.
constexpr std::size_t kTogetherBytes = 256 * 1024;

std::size_t input_count(const OperationRequest& request, int ranks) {
  const bool has_blocks = request.signature.kind == OperationKind::kReduceScatter;
  return request.signature.count * (has_blocks ? static_cast<std::size_t>(ranks) : 1);
}

}  // namespace

std::size_t tensors_together(std::span<const Tensor> tensors, std::size_t element_bytes,
                             std::size_t small_bytes) {
  std::size_t together = 0, bytes = 0;
  for (const Tensor& tensor : tensors) {
    const std::size_t more = tensor.count * element_bytes;
    if (more > small_bytes || bytes + more > kTogetherBytes) break;
    bytes += more;
    ++together;
  }
  return together == 0 && !tensors.empty() ? 1 : together;
}

OperationRequest request_of(std::span<const Tensor> tensors, OperationRequest request) {
  if (tensors.size() == 1) {
    request.signature.count = tensors.front().count;
    request.input = static_cast<const std::byte*>(tensors.front().in);
    request.output = static_cast<std::byte*>(tensors.front().out);
    return request;
  }
  std::uint64_t digest = 0;
  for (const Tensor& tensor : tensors) {
    request.signature.count += tensor.count;
    digest = Random(digest ^ tensor.count).next();
  }
  request.tensors = tensors;
  request.call_digest = static_cast<std::uint32_t>(digest);
  return request;
}

void Staging::prepare(OperationRequest& request, int ranks) {
  const Signature& signature = request.signature;
  element_bytes_ = size_of(signature.type);
  tensors_ = request.tensors;
  if (!tensors_.empty()) gather(request);
  if (signature.op != ReduceOp::kPreMulSum) return;
  const std::size_t count = input_count(request, ranks);
  const bool has_room = signature.kind == OperationKind::kAllReduce;
  std::byte* const into = has_room ? request.output : memory(count * element_bytes_);
  scale(request, into, count);
  request.input = into;
}

void Staging::gather(OperationRequest& request) {
  std::byte* at = memory(request.signature.count * element_bytes_);
  request.input = request.output = at;
  for (const Tensor& tensor : tensors_) {
    const std::size_t bytes = tensor.count * element_bytes_;
    if (bytes > 0) std::memcpy(at, tensor.in, bytes);
    at += bytes;
  }
}

void Staging::scale(const OperationRequest& request, std::byte* into, std::size_t count) {
  if (count == 0) return;
  kernels()
      .of(request.signature.type)
      .scale(into, request.input, request.factor->element.data(), count);
}

void Staging::deliver() {
  const std::byte* at = memory_.data();
  for (const Tensor& tensor : tensors_) {
    const std::size_t bytes = tensor.count * element_bytes_;
    if (bytes > 0) std::memcpy(tensor.out, at, bytes);
    at += bytes;
  }
  tensors_ = {};
}

std::byte* Staging::memory(std::size_t bytes) {
  if (memory_.size() < bytes) memory_.resize(bytes);
  return memory_.data();
}

}  // namespace paceline
