#include "tests/harness/cpu_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "collectives/gradient/kernels/halves.h"
#include "collectives/gradient/kernels/list.h"
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

std::vector<KernelMemory> memory_of(const LookArguments& from) {
  return {{offsetof(LookArguments, elements), from.bytes},
          {offsetof(LookArguments, findings), kFindingsBytes}};
}
std::size_t bytes_of(const on_device::Slots& slots) {
  return (slots.count + slots.shard - 1) / slots.shard * slots.slot_bytes;
}
std::vector<KernelMemory> memory_of(const EncodeArguments& from) {
  return {{offsetof(EncodeArguments, elements), from.slots.count * sizeof(float)},
          {offsetof(EncodeArguments, codes), bytes_of(from.slots)},
          {offsetof(EncodeArguments, findings), kFindingsBytes}};
}
std::vector<KernelMemory> memory_of(const SumArguments& from) {
  return {{offsetof(SumArguments, elements), from.slots.count * sizeof(float)},
          {offsetof(SumArguments, codes), from.ranks * from.slots.slot_bytes},
          {offsetof(SumArguments, sum), from.slots.slot_bytes}};
}
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

template <class Arguments, void (*function)(const CpuBlock&, const Arguments&, Shared&)>
CpuKernel row(std::string_view name) {
  return {.name = name,
          .argument_bytes = sizeof(Arguments),
          .memory = [](const void* bytes) { return memory_of(from<Arguments>(bytes)); },
          .run =
              [](const void* bytes, unsigned blocks) {
                Shared shared;
                for (unsigned block = 0; block < blocks; ++block)
                  function(CpuBlock(block, blocks), from<Arguments>(bytes), shared);
              }};
}

}  // namespace

const CpuKernel* find_cpu_kernel(std::string_view name) {
#define PACELINE_ROW(name, function, Arguments) \
  row<on_device::Arguments, on_device::function>("paceline_" #name),
  static const std::array kernels = {PACELINE_GRADIENT_KERNELS(PACELINE_ROW)};
#undef PACELINE_ROW
  const auto found = std::ranges::find(kernels, name, &CpuKernel::name);
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace paceline::testing
