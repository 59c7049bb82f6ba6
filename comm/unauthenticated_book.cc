#include "comm/unauthenticated_book.h"

#include <algorithm>
#include <iterator>

#include "comm/base/assert.h"

namespace paceline {

bool UnauthenticatedBook::may_accept(TimePoint now) {
  free_places(now);
  return now >= rest_until_ && now >= place_at();
}

bool UnauthenticatedBook::is_full(TimePoint now) {
  free_places(now);
  return places_.size() >= max_;
}

UnauthenticatedBook::Id UnauthenticatedBook::admit(TimePoint now) {
  PACELINE_ASSERT(!is_full(now));
  failing_since_.reset();
  ++open_;
  return places_.emplace_back(Place{.id = Id{next_++}, .since = now}).id;
}

void UnauthenticatedBook::authenticated(Id id) {
  places_.erase(find(id));
  --open_;
}

void UnauthenticatedBook::refused(Id id) {
  find(id)->is_open = false;
  --open_;
}

std::optional<UnauthenticatedBook::Id> UnauthenticatedBook::gives_way(TimePoint now) {
  return oldest_after(kMinTime, now);
}

std::optional<UnauthenticatedBook::Id> UnauthenticatedBook::late(TimePoint now) {
  return oldest_after(kMaxTime, now);
}

// A refused connection at the front is younger than kMinTime, and so are all others.
std::optional<UnauthenticatedBook::Id> UnauthenticatedBook::oldest_after(Duration time,
                                                                         TimePoint now) {
  free_places(now);
  if (places_.empty() || now < places_.front().since + time) return std::nullopt;
  return places_.front().id;
}

void UnauthenticatedBook::failed(TimePoint now) {
  if (!failing_since_) failing_since_ = now;
  rest_until_ = now + kPause;
}

bool UnauthenticatedBook::is_short(TimePoint now) const {
  return failing_since_ && now >= *failing_since_ + kMaxShortage;
}

TimePoint UnauthenticatedBook::wake_at(bool more_wait) const {
  TimePoint wake = TimePoint::max();
  if (!places_.empty())
    wake = places_.front().since + (places_.front().is_open ? kMaxTime : kMinTime);
  return more_wait ? std::min(wake, std::max(rest_until_, place_at())) : wake;
}

// When there is a place for one more at the latest. After limit_to() more than one may give way.
TimePoint UnauthenticatedBook::place_at() const {
  if (places_.size() < max_) return TimePoint::min();
  return max_ == 0 ? TimePoint::max() : places_[places_.size() - max_].since + kMinTime;
}

std::deque<UnauthenticatedBook::Place>::iterator UnauthenticatedBook::find(Id id) {
  const auto found =
      std::lower_bound(places_.begin(), places_.end(), id,
                       [](const Place& place, Id wanted) { return place.id < wanted; });
  PACELINE_ASSERT(found != places_.end() && found->id == id && found->is_open);
  return found;
}

void UnauthenticatedBook::free_places(TimePoint now) {
  for (auto at = places_.begin(); at != places_.end() && now >= at->since + kMinTime;)
    at = at->is_open ? std::next(at) : places_.erase(at);
}

}  // namespace paceline
