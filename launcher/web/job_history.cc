#include "launcher/web/job_history.h"

#include <algorithm>
#include <utility>

#include "launcher/control/interval.h"
#include "launcher/control/plain_name.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

std::string rank_and_host(const v1::Rank& rank) {
  return rank.member().role() + " " + std::to_string(rank.member().index()) + " on " + rank.host();
}

JobHistory::Point merged(const JobHistory::Point& first, const JobHistory::Point& second) {
  JobHistory::Point both = second;
  both.seconds += first.seconds;
  both.samples += first.samples;
  for (std::size_t i = 0; i < kSpents; ++i) both.spent[i] += first.spent[i];
  return both;
}

}  // namespace

void JobHistory::take(const v1::Snapshot& snapshot) {
  add_events(snapshot);
  add_point(snapshot);
  last_ = snapshot;
  has_begun_ = true;
}

void JobHistory::add_point(const v1::Snapshot& snapshot) {
  if (!has_begun_ || !snapshot.has_performance()) return;
  const JobInterval between = interval_of(last_, snapshot);
  const Point point{.until = snapshot.elapsed_seconds(),
                    .seconds = between.seconds,
                    .spent = between.spent,
                    .samples = between.samples};
  if (point.seconds <= 0) return;
  points_.push_back(point);
  if (points_.size() <= kMostPoints) return;
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2)
    points_[i / 2] = merged(points_[i], points_[i + 1]);
  if (points_.size() % 2 == 1) points_[points_.size() / 2] = points_.back();
  points_.resize((points_.size() + 1) / 2);
}

void JobHistory::add_events(const v1::Snapshot& snapshot) {
  const double now = snapshot.elapsed_seconds();
  if (!has_begun_ || snapshot.phase() != last_.phase())
    add_event(now, "the job is " + phase_text(snapshot.phase()));
  if (snapshot.epoch() > last_.epoch())
    add_event(now,
              "all ranks were started again (start " + std::to_string(snapshot.epoch() + 1) + ")");
  for (int i = 0; i < snapshot.ranks_size(); ++i) {
    const v1::Rank& rank = snapshot.ranks(i);
    const bool had_ended = i < last_.ranks_size() && snapshot.epoch() == last_.epoch() &&
                           last_.ranks(i).state() == v1::Rank::STATE_ENDED;
    if (rank.state() != v1::Rank::STATE_ENDED || had_ended) continue;
    if (rank.has_exit_code() && rank.exit_code() == 0) continue;
    add_event(now, rank_and_host(rank) + " ended: " + rank.end());
  }
  for (const v1::WaitedFor& one : snapshot.performance().waited_for()) {
    const auto is_same = [&one](const v1::WaitedFor& before) {
      return before.member().index() == one.member().index() && before.cause() == one.cause();
    };
    if (one.cause().empty() || std::ranges::any_of(last_.performance().waited_for(), is_same))
      continue;
    const auto rank = static_cast<int>(one.member().index());
    if (rank < 0 || rank >= snapshot.ranks_size()) continue;
    add_event(now, "others wait for " + rank_and_host(snapshot.ranks(rank)) + ": " + one.cause());
  }
}

void JobHistory::add_event(double at, std::string text) {
  events_.push_back({.number = event_count_++, .at = at, .text = std::move(text)});
  if (events_.size() > kMostEvents) events_.pop_front();
}

}  // namespace paceline::launcher
