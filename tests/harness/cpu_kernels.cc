#include "tests/harness/cpu_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "collectives/gradient/kernels/halves.h"
#include "collectives/gradient/kernels/look.h"
#include "comm/device/kernel_block.h"

namespace paceline::testing {
namespace {

using on_device::DecodeArguments;
using on_device::EncodeArguments;
using on_device::LookArguments;
using on_device::Shared;
using on_device::SumArguments;

constexpr std::size_t kFindingsBytes = on_device::kBlocks * sizeof(on_device::Findings);

template <class Element>
std::vector<KernelMemory> memory_of(const LookArguments& from) {
  return {{offsetof(LookArguments, elements), from.count * sizeof(Element)},
          {offsetof(LookArguments, findings), kFindingsBytes}};
}
std::size_t bytes_of(const on_device::Slots& slots) {
  return (slots.count + slots.shard - 1) / slots.shard * slots.slot_bytes;
}
template <class>
std::vector<KernelMemory> memory_of(const EncodeArguments& from) {
  return {{offsetof(EncodeArguments, elements), from.slots.count * sizeof(float)},
          {offsetof(EncodeArguments, codes), bytes_of(from.slots)},
          {offsetof(EncodeArguments, findings), kFindingsBytes}};
}
template <class>
std::vector<KernelMemory> memory_of(const SumArguments& from) {
  return {{offsetof(SumArguments, elements), from.slots.count * sizeof(float)},
          {offsetof(SumArguments, codes), from.ranks * from.slots.slot_bytes},
          {offsetof(SumArguments, sum), from.slots.slot_bytes}};
}
template <class>
std::vector<KernelMemory> memory_of(const DecodeArguments& from) {
  return {{offsetof(DecodeArguments, codes), bytes_of(from.slots)},
          {offsetof(DecodeArguments, elements), from.slots.count * sizeof(float)},
          {offsetof(DecodeArguments, findings), kFindingsBytes}};
}

// Bytes of arguments need not be aligned.
template <class Arguments>
Arguments from(const void* bytes) {
  Arguments arguments;
  std::memcpy(&arguments, bytes, sizeof arguments);
  return arguments;
}

template <class Element, class Arguments,
          void (*function)(const CpuBlock&, const Arguments&, Shared&)>
CpuKernel row(std::string_view name) {
  return {.name = name,
          .argument_bytes = sizeof(Arguments),
          .memory = [](const void* bytes) { return memory_of<Element>(from<Arguments>(bytes)); },
          .run =
              [](const void* bytes, unsigned blocks) {
                Shared shared;
                for (unsigned block = 0; block < blocks; ++block)
                  function(CpuBlock(block, blocks), from<Arguments>(bytes), shared);
              }};
}

template <class Element>
CpuKernel look(std::string_view name) {
  return row<Element, LookArguments, on_device::look<Element>>(name);
}
template <class Half>
std::array<CpuKernel, 3> halves(std::string_view encode, std::string_view sum,
                                std::string_view decode) {
  return {row<Half, EncodeArguments, on_device::encode_halves<Half>>(encode),
          row<Half, SumArguments, on_device::sum_halves<Half>>(sum),
          row<Half, DecodeArguments, on_device::decode_halves<Half>>(decode)};
}

std::vector<CpuKernel> make_kernels() {
  std::vector<CpuKernel> all = {
      look<Float16>("paceline_look_float16"), look<BFloat16>("paceline_look_bfloat16"),
      look<float>("paceline_look_float32"), look<double>("paceline_look_float64")};
  for (const auto& codec :
       {halves<Float16>("paceline_encode_fp16", "paceline_sum_fp16", "paceline_decode_fp16"),
        halves<BFloat16>("paceline_encode_bf16", "paceline_sum_bf16", "paceline_decode_bf16")})
    all.insert(all.end(), codec.begin(), codec.end());
  return all;
}

}  // namespace

const CpuKernel* find_cpu_kernel(std::string_view name) {
  static const std::vector<CpuKernel> kernels = make_kernels();
  const auto found = std::ranges::find(kernels, name, &CpuKernel::name);
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace paceline::testing
