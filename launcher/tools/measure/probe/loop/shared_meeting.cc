#include "launcher/tools/measure/probe/loop/shared_meeting.h"

#include <algorithm>
#include <utility>

#include "comm/base/assert.h"
#include "comm/base/try.h"
#include "launcher/tools/measure/probe/loop/sleep_on_word.h"

namespace paceline::probe {
namespace {

constexpr std::size_t kHeadBytes = 4096;
constexpr Duration kLongestRound = std::chrono::seconds(120);  // longer than any operation takes
// 100 us or more, longer than ranks are apart between samples: who sleeps wakes up late.
constexpr int kYields = 400;

}  // namespace

Result<std::unique_ptr<SharedMeeting>> SharedMeeting::open(const std::string& path, Place place,
                                                           const Clock& clock) {
  const auto ranks = static_cast<std::size_t>(place.ranks);
  PACELINE_TRY_ASSIGN(
      SharedFile file,
      SharedFile::open(path, kHeadBytes + ranks * kMaxShared * sizeof(std::int64_t)));
  return std::unique_ptr<SharedMeeting>(new SharedMeeting(std::move(file), place, clock));
}

SharedMeeting::SharedMeeting(SharedFile file, Place place, const Clock& clock)
    : file_(std::move(file)),
      place_(place),
      clock_(clock),
      patience_(clock, place.ranks, place.cpus),
      // The kernel's zeros are a good initial state.
      head_(reinterpret_cast<Head*>(file_.memory().data())),
      rows_(reinterpret_cast<std::int64_t*>(file_.memory().data() + kHeadBytes)) {
  static_assert(sizeof(Head) <= kHeadBytes);
}

Status SharedMeeting::meet() {
  const auto round = arrive();
  if (!round) return Status();
  const auto past = [&] { return head_->round.value.load(std::memory_order_acquire) != *round; };
  return patience_.wait(past, kLongestRound, kYields) ? Status() : sleep_until_past(*round);
}

Status SharedMeeting::meet_asleep() {
  const auto round = arrive();
  return round ? sleep_until_past(*round) : Status();
}

// Whoever comes last lets the others go. The fence of the strict order stands between its new round
// and its look at the sleepers, as between a sleeper's count and its look at the round.
std::optional<std::uint32_t> SharedMeeting::arrive() {
  const std::uint32_t round = head_->round.value.load(std::memory_order_relaxed);
  const auto ranks = static_cast<std::uint32_t>(place_.ranks);
  if (head_->arrived.value.fetch_add(1, std::memory_order_acq_rel) + 1 < ranks) return round;
  head_->arrived.value.store(0, std::memory_order_relaxed);
  head_->round.value.store(round + 1, std::memory_order_seq_cst);
  if (head_->sleepers.value.load(std::memory_order_seq_cst) != 0) wake_all(head_->round.value);
  return {};
}

Status SharedMeeting::sleep_until_past(std::uint32_t round) {
  const Deadline deadline = Deadline::after(clock_, kLongestRound);
  head_->sleepers.value.fetch_add(1, std::memory_order_seq_cst);
  while (head_->round.value.load(std::memory_order_seq_cst) == round &&
         !deadline.passed(clock_.now()))
    sleep_while(head_->round.value, round);
  head_->sleepers.value.fetch_sub(1, std::memory_order_relaxed);
  if (head_->round.value.load(std::memory_order_acquire) != round) return Status();
  return Status(Code::kTimeout, Scope::kGroup,
                "rank " + std::to_string(place_.rank) +
                    " waited 120 s for other ranks to begin a measurement");
}

Result<std::vector<std::int64_t>> SharedMeeting::share(std::span<const std::int64_t> own) {
  PACELINE_ASSERT(own.size() <= kMaxShared);
  std::copy(own.begin(), own.end(), row(place_.rank));
  PACELINE_TRY(meet());
  std::vector<std::int64_t> all;
  for (int rank = 0; rank < place_.ranks; ++rank)
    all.insert(all.end(), row(rank), row(rank) + own.size());
  PACELINE_TRY(meet());  // nobody writes its next values before all have read these
  return all;
}

}  // namespace paceline::probe
