#include "launcher/agent/rank_gpu.h"

#include <algorithm>
#include <cstddef>

#include "comm/base/cgroup.h"
#include "comm/base/text.h"
#include "launcher/agent/rank_environment.h"

namespace paceline::launcher {
namespace {

const messages::App* app_of(const messages::Start& start, int local_rank) {
  int first = 0;
  for (const messages::App& app : start.apps()) {
    first += static_cast<int>(app.ranks());
    if (local_rank < first) return &app;
  }
  return nullptr;
}

}  // namespace

VisibleGpu visible_gpu(const messages::Start& start, int local_rank,
                       FunctionRef<const char*(const char*)> inherited) {
  const messages::App* const app = app_of(start, local_rank);
  if (app == nullptr) return {};
  const auto suggested = [&](const char* name) -> const char* {
    if (const char* const own = inherited(name)) return own;
    if (local_rank >= start.seats_size()) return nullptr;
    return value_of(name, start.seats(local_rank).suggested(),
                    [](const char*) -> const char* { return nullptr; });
  };
  const char* const devices = value_of("CUDA_VISIBLE_DEVICES", app->environment(), suggested);
  if (devices == nullptr) return {};
  const auto words = split_words(devices, ',');
  const auto place = words.size() == 1 ? 0 : static_cast<std::size_t>(local_rank);
  if (place >= words.size()) return {};
  const char* const order = value_of("CUDA_DEVICE_ORDER", app->environment(), suggested);
  return {.word = std::string(trimmed(words[place], " ")),
          .counts_by_address = order != nullptr && std::string_view(order) == "PCI_BUS_ID"};
}

std::optional<std::uint32_t> number_of(const VisibleGpu& gpu, const GpuWatch::Gpus& gpus) {
  const bool are_alike = std::ranges::all_of(
      gpus, [&gpus](const messages::GpuMeasured& one) { return one.name() == gpus[0].name(); });
  const auto number = parse_number<std::uint32_t>(gpu.word);
  for (const messages::GpuMeasured& one : gpus) {
    if (number && (gpu.counts_by_address || are_alike) && one.number() == *number) return number;
    if (gpu.word.starts_with("GPU-") && one.uuid().starts_with(gpu.word)) return one.number();
  }
  return std::nullopt;
}

}  // namespace paceline::launcher
