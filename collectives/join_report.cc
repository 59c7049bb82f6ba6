#include "collectives/join_report.h"

#include <algorithm>

#include "comm/base/text.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxNamed = 8;

std::string ranks_text(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMaxNamed); ++i)
    text.append(i == 0 ? " " : ", ").append(std::to_string(ranks[i]));
  return ranks.size() > kMaxNamed ? text + ", …" : text;
}

}  // namespace

void JoinReport::attach_to(StoreClient& store) const {
  store.report_waits(options_.every,
                     [report = *this](std::span<const int> missing, Duration waited) {
                       report.say(missing, waited);
                     });
}

Result<std::unique_ptr<StoreClient>> JoinReport::connect_to_rank_0(
    const std::shared_ptr<PollEngine>& engine, const SocketAddress& address, const JobKey* key,
    Deadline deadline) const {
  const Clock& clock = engine->clock();
  const TimePoint began = clock.now();
  while (true) {
    const Deadline report = Deadline::after(clock, options_.every);
    const bool is_last = report.moment() >= deadline.moment();
    auto store = StoreClient::connect(engine, address, key, is_last ? deadline : report);
    const Code code = store.status().code();
    const bool nobody_came = code == Code::kUnavailable || code == Code::kTimeout;
    if (is_last || !nobody_came) return store;
    constexpr int kServer[] = {0};
    write(kServer, clock.now() - began);
  }
}

void JoinReport::say(std::span<const int> missing, Duration waited) const {
  const auto is_before = [this](int rank) { return rank < options_.rank; };
  const bool is_first = std::ranges::count_if(missing, is_before) == options_.rank;
  if (!missing.empty() && is_first) write(missing, waited);
}

void JoinReport::write(std::span<const int> missing, Duration waited) const {
  if (options_.log == nullptr) return;
  const std::string who =
      "rank " + std::to_string(options_.rank) + " of " + std::to_string(options_.size);
  const std::string where = options_.part.empty() ? "" : " in " + options_.part;
  options_.log->write(Severity::kWarning,
                      who + " has waited " + seconds_text(waited) + where +
                          " for ranks that have not joined: " + ranks_text(missing));
}

}  // namespace paceline
