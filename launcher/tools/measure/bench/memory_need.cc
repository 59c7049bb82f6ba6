#include "launcher/tools/measure/bench/memory_need.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "launcher/tools/measure/probe/loop/measurement.h"
#include "launcher/tools/measure/probe/loop/operation.h"

namespace paceline::launcher {
namespace {

// A rank's program, its sockets, the meeting, and what it walks through to empty caches.
constexpr std::uint64_t kRank = std::uint64_t{16} << 20;
// An estimate, which was not measured on a GPU: a context of CUDA, and memory that a communicator
// pins.
constexpr std::uint64_t kOnGpu = std::uint64_t{320} << 20;
constexpr std::uint64_t kEviction = std::uint64_t{256} << 20;

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

std::uint64_t memory_need(const probe::Orders& orders, int ranks) {
  const std::uint64_t longest = orders.sizes().back();
  const bool in_place = probe::find_operation(orders.operation)->is_in_place(orders.in_place);
  // An array is copied to the GPU and back, and messages are pinned as a whole.
  const bool is_pairwise = probe::find_operation(orders.operation)->is_pairwise();
  const std::uint64_t on_gpu = (is_pairwise ? 3 * longest : longest) + kOnGpu;
  const std::uint64_t buffers = orders.on_gpu ? on_gpu : in_place ? longest : 2 * longest;
  const std::uint64_t copies =
      orders.limits ? std::min<std::uint64_t>(longest, probe::Measurement::kMaxCopy) : 0;
  return (buffers + copies + kRank + (orders.cold ? kEviction : 0)) *
         static_cast<std::uint64_t>(ranks);
}

Status check_memory(const probe::Orders& orders, int ranks, int programs, std::uint64_t available) {
  const std::uint64_t need = memory_need(orders, ranks) * static_cast<std::uint64_t>(programs);
  if (available == 0 || need <= available / 10 * 9) return Status();
  return Status(Code::kExhausted, Scope::kOperation,
                std::to_string(ranks * programs) + " ranks need " + mebibytes(need) +
                    " of memory, but only " + mebibytes(available) +
                    " are free; ask for fewer ranks, or for smaller --bytes");
}

std::uint64_t available_memory() {
  constexpr std::string_view kName = "MemAvailable:";
  const std::string text = read_file("/proc/meminfo");
  const std::size_t at = text.find(kName);
  if (at == text.npos) return 0;
  const std::size_t begin = text.find_first_not_of(' ', at + kName.size());
  const std::size_t end = std::min(text.find(' ', begin), text.size());
  return parse_number<std::uint64_t>(text.substr(begin, end - begin)).value_or(0) << 10;
}

}  // namespace paceline::launcher
