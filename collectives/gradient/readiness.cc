#include "collectives/gradient/readiness.h"

#include <utility>

namespace paceline {

Readiness::Readiness(std::vector<std::uint32_t> uses)
    : uses_(std::move(uses)),
      left_(std::make_unique<std::atomic<std::uint32_t>[]>(uses_.size())),
      ready_us_(uses_.size()),
      buckets_of_(uses_.size()) {}

void Readiness::set_buckets(std::span<const Bucket> buckets) {
  for (std::vector<std::size_t>& all : buckets_of_) all.clear();
  gradients_in_.clear();
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    gradients_in_.push_back(buckets[bucket].gradients.size());
    for (const std::size_t gradient : buckets[bucket].gradients)
      buckets_of_[gradient].push_back(bucket);
  }
  missing_ = std::make_unique<std::atomic<std::size_t>[]>(buckets.size());
  clear();
}

void Readiness::clear() {
  for (std::size_t i = 0; i < buckets_of_.size(); ++i)
    left_[i].store(uses_[i], std::memory_order_relaxed);
  for (std::size_t i = 0; i < gradients_in_.size(); ++i)
    missing_[i].store(gradients_in_[i], std::memory_order_relaxed);
}

Readiness::Marked Readiness::mark(std::size_t gradient, double ready_us) {
  std::uint32_t left = left_[gradient].load(std::memory_order_relaxed);
  do {
    if (left == 0) return Marked::kTooOften;
  } while (!left_[gradient].compare_exchange_weak(left, left - 1, std::memory_order_acq_rel));
  return left == 1 ? set_ready(gradient, ready_us) : Marked::kAlone;
}

void Readiness::mark_rest(std::size_t gradient, double ready_us) {
  if (left_[gradient].exchange(0, std::memory_order_acq_rel) > 0)
    (void)set_ready(gradient, ready_us);
}

Readiness::Marked Readiness::set_ready(std::size_t gradient, double ready_us) {
  ready_us_[gradient] = ready_us;
  Marked marked = Marked::kAlone;
  for (const std::size_t bucket : buckets_of_[gradient])
    if (missing_[bucket].fetch_sub(1, std::memory_order_acq_rel) == 1)
      marked = Marked::kWholeBucket;
  return marked;
}

}  // namespace paceline
