#include "collectives/gradient/readiness.h"

namespace paceline {

Readiness::Readiness(std::size_t gradients)
    : marks_(std::make_unique<std::atomic<std::uint8_t>[]>(gradients)),
      ready_us_(gradients),
      buckets_of_(gradients) {}

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
    marks_[i].store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < gradients_in_.size(); ++i)
    missing_[i].store(gradients_in_[i], std::memory_order_relaxed);
}

Readiness::Marked Readiness::mark(std::size_t gradient, double ready_us) {
  if (marks_[gradient].exchange(1, std::memory_order_acq_rel) != 0) return Marked::kTwice;
  ready_us_[gradient] = ready_us;
  Marked marked = Marked::kAlone;
  for (const std::size_t bucket : buckets_of_[gradient])
    if (missing_[bucket].fetch_sub(1, std::memory_order_acq_rel) == 1)
      marked = Marked::kWholeBucket;
  return marked;
}

}  // namespace paceline
