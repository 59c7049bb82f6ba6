// What a GradientCore does in its next steps: buckets and their codecs, from what was measured.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "collectives/gradient/bucket_site.h"
#include "collectives/gradient/coded_reduction.h"
#include "collectives/gradient/device_reduction.h"
#include "collectives/gradient/gradient_core.h"
#include "collectives/gradient/plain_reduction.h"
#include "collectives/requests.h"
#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline {

void GradientCore::set_schedule(Schedule schedule, const PathCost& path) {
  schedule_ = std::move(schedule);
  codecs_.clear();
  std::vector<LowRankPart> parts;
  std::vector<ByteSpan> losing;
  for (const Bucket& bucket : schedule_.buckets) {
    codecs_.push_back(codec_of(bucket, path));
    if (needs_feedback(codecs_.back())) losing.push_back(bucket.spans.front());
    if (codecs_.back() == Codec::kPowerSgd)
      std::ranges::copy(bases_.parts_of(bucket), std::back_inserter(parts));
  }
  bases_.set_parts(parts);
  feedback_.set_spans(std::move(losing));
  if (by_library_) make_room_on_device();
  std::vector<std::unique_ptr<BucketReduction>> buckets;
  for (std::size_t i = 0; i < codecs_.size(); ++i) buckets.push_back(make_reduction(i));
  const Engine::Baton baton = engine_->hold();
  line_.set_buckets(schedule_, std::move(buckets));
  readiness_.set_buckets(schedule_.buckets);
  ++plans_;
}

// For the buckets of the schedule. An error has ended the communicator: the next step says so.
void GradientCore::make_room_on_device() {
  const Engine::Baton baton = engine_->hold();
  if (looks_) (void)looks_->set_buckets(schedule_.buckets.size());
  std::size_t bytes = 0, coded = 0;
  for (std::size_t i = 0; i < codecs_.size(); ++i) {
    if (codecs_[i] == Codec::kNone) continue;
    bytes = std::max(bytes, device_dense_scratch_bytes(schedule_.buckets[i], own_.group().size()));
    ++coded;
  }
  if (coded > 0) (void)scratch_->reserve(bytes, std::min(coded, BucketLine::kMostBegun + 2));
}

// What is of several pieces is small, and no codec pays for it; where one is forced nothing is.
bool GradientCore::may_be_coded(const Bucket& bucket) const {
  return type_of(bucket) == DataType::kFloat32 && bucket.spans.size() == 1 &&
         own_.group().size() > 1;
}

Codec GradientCore::codec_of(const Bucket& bucket, const PathCost& path) const {
  if (!may_be_coded(bucket)) return Codec::kNone;
  const Codec codec = policy_.choose(bucket.bytes(), path);
  if (codec != Codec::kPowerSgd) return codec;
  const auto pays = [](const LowRankPart& part) { return part.shape.pays(); };
  return std::ranges::any_of(bases_.parts_of(bucket), pays) ? codec : Codec::kNone;
}

std::unique_ptr<BucketReduction> GradientCore::make_reduction(std::size_t number) {
  const Bucket& bucket = schedule_.buckets[number];
  const Codec codec = codecs_[number];
  if (by_library_) {
    const DeviceSite site{.arena = arena_,
                          .mirror = *mirror_,
                          .looks = looks_ ? &*looks_ : nullptr,
                          .scratch = *scratch_,
                          .options = options_,
                          .rank = own_.group().rank,
                          .ranks = own_.group().size()};
    if (codec != Codec::kNone) return make_device_dense_reduction(site, number, bucket, codec);
    return make_device_reduction(site, number, bucket, type_of(bucket));
  }
  const BucketSite site(arena_, type_of(bucket), options_, feedback_.is_kept());
  if (codec == Codec::kNone) return make_plain_reduction(site, bucket, own_.group().size());
  const ByteSpan span = bucket.spans.front();
  CodedPlace place{.span = span, .rank = own_.group().rank, .ranks = own_.group().size()};
  if (needs_feedback(codec)) place.feedback = &feedback_;
  if (const DenseCodec* const dense = find_dense_codec(codec); dense != nullptr)
    return make_dense_reduction(site, place, *dense);
  if (codec == Codec::kTopK) return make_top_k_reduction(site, place);
  return make_power_sgd_reduction(site, place, bases_.parts_of(bucket), bases_);
}

// What the largest gradient is like: the same on all ranks, as it has just been reduced.
GradientSample GradientCore::sample() const {
  constexpr std::size_t kMost = std::size_t{1} << 18;
  GradientSample largest;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (is_frozen_[i] || parameters_[i].type != DataType::kFloat32) continue;
    const std::span<std::byte> bytes = arena_.of(i);
    const std::span all(reinterpret_cast<const float*>(bytes.data()), parameters_[i].count);
    if (all.size() > largest.elements.size())
      largest = {.elements = all, .columns = parameters_[i].columns};
  }
  largest.elements = largest.elements.first(std::min(largest.elements.size(), kMost));
  return largest;
}

// The quickest of some: the first one also waits for ranks that are late.
Result<double> GradientCore::short_operation_us() {
  constexpr int kTimes = 4;
  double least_us = std::numeric_limits<double>::infinity(), word = 0;
  for (int i = 0; i < kTimes; ++i) {
    const TimePoint begin = engine_->clock().now();
    PACELINE_TRY(own_.run(requests::all_reduce(&word, &word, 1, DataType::kFloat64)));
    const std::chrono::duration<double, std::micro> took = engine_->clock().now() - begin;
    least_us = std::min(least_us, took.count());
  }
  return least_us;
}

Status GradientCore::decide_buckets() {
  std::vector<double> told = measured_.tell();
  PACELINE_TRY_ASSIGN(const double alpha_us, short_operation_us());
  {
    const Engine::Baton baton = engine_->hold();
    told.insert(told.end(), {alpha_us, line_.meter().beta_us(alpha_us)});
    line_.meter().clear();
  }
  policy_.tell(sample(), engine_->clock(), told);
  PACELINE_TRY(
      own_.run(requests::all_reduce(told.data(), told.data(), told.size(), DataType::kFloat64)));
  const int ranks = own_.group().size();
  const std::span<const double> all(told);
  const std::size_t times = parameters_.size();
  measured_.hear(all.first(times), ranks);
  policy_.hear(all.subspan(times + 2));
  const PathCost path{.alpha_us = told[times] / ranks,
                      .beta_us = told[times + 1] / ranks,
                      .overlaps = own_.overlaps(OperationKind::kAllReduce, arena_.bytes())};
  Schedule schedule = measured_.decide(path, is_frozen_, false);
  if (const std::size_t buckets = schedule.buckets.size(); buckets > 0) {
    const std::size_t typical = arena_.bytes() / buckets;
    policy_.settle(typical, path);
    if (policy_.current() != Codec::kNone)
      schedule = measured_.decide(policy_.path_of(policy_.current(), path), is_frozen_, true);
    for (const std::string& news : policy_.news(typical, path)) tell_log(news);
  }
  set_schedule(std::move(schedule), path);
  return {};
}

void GradientCore::tell_log(const std::string& news) const {
  if (own_.group().rank == 0 && own_.parts().log != nullptr)
    own_.parts().log->write(options_.codec == Codec::kAuto ? Severity::kInfo : Severity::kWarning,
                            "gradients: " + news);
}

std::string GradientCore::describe() const {
  std::string text;
  for (std::size_t i = 0; i < schedule_.buckets.size(); ++i) {
    const Bucket& bucket = schedule_.buckets[i];
    text += std::to_string(bucket.bytes()) + " bytes";
    if (by_library_) text += " in GPU memory";
    if (codecs_[i] != Codec::kNone) text.append(" as ").append(name(codecs_[i]));
    text += ": ";
    text += printable(parameters_[bucket.gradients.front()].name);
    if (bucket.gradients.size() > 1)
      text += " to " + printable(parameters_[bucket.gradients.back()].name) + " (" +
              std::to_string(bucket.gradients.size()) + " gradients)";
    text += "\n";
  }
  return text;
}

}  // namespace paceline
