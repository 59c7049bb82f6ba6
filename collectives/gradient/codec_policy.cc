#include "collectives/gradient/codec_policy.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "collectives/gradient/codecs/dense_codec.h"
#include "collectives/gradient/codecs/power_sgd.h"
#include "collectives/gradient/codecs/top_k.h"

namespace paceline {
namespace {

// Whoever allows more may mean codecs that leave most for later steps.
constexpr double kLargeBudget = 0.1;
constexpr int kTries = 3;            // the quickest counts: others use the machine, too
constexpr std::size_t kNumbers = 5;  // that are told of a candidate

std::vector<Codec> candidates_of(const GradientOptions& options) {
  if (options.codec == Codec::kNone) return {};
  if (options.codec != Codec::kAuto) return {options.codec};
  std::vector<Codec> all = {Codec::kBf16, Codec::kFp16, Codec::kInt8};
  if (options.error_budget >= kLargeBudget) all.insert(all.end(), {Codec::kTopK, Codec::kPowerSgd});
  return all;
}

double least_us(const Clock& clock, const std::function<void()>& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const TimePoint begin = clock.now();
    work();
    const std::chrono::duration<double, std::micro> took = clock.now() - begin;
    least = std::min(least, took.count());
  }
  return least;
}

// Of nothing to be near to, or of what is not finite, any error is too large.
double relative_error(std::span<const float> wanted, std::span<const float> found) {
  double error = 0, length = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double more = static_cast<double>(found[i]) - static_cast<double>(wanted[i]);
    error += more * more;
    length += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
  }
  const double ratio = std::sqrt(error / length);
  return std::isfinite(ratio) ? ratio : 1e9;
}

// What each rank does for a bucket of the sample's size, and what becomes of it.
struct Tried {
  double encode_us = 0, decode_us = 0;
  std::size_t encoded_bytes = 0;
  int operations = 1;
  std::vector<float> result;
};

// All of it is encoded, the own shard as the sum; shards of the others are added, and all sums are
// decoded.
Tried try_dense(const DenseCodec& codec, std::span<const float> sample, int ranks,
                const Clock& clock) {
  const std::size_t count = sample.size();
  Tried tried{.encoded_bytes = codec.encoded_bytes(count), .operations = 2};
  std::vector<std::byte> encoded(tried.encoded_bytes);
  std::vector<float> residual(codec.needs_feedback ? count : 0);
  tried.result.resize(count);
  tried.encode_us = least_us(clock, [&] {
    std::ranges::fill(residual, 0.0f);
    float* const kept = residual.empty() ? nullptr : residual.data();
    codec.encode(sample.data(), kept, kept, count, encoded.data());
  });
  const double added_us =
      least_us(clock, [&] { codec.decode_add(encoded.data(), count, tried.result.data()); });
  const double decoded_us =
      least_us(clock, [&] { codec.decode(encoded.data(), count, tried.result.data()); });
  tried.decode_us = decoded_us + added_us * (ranks - 1) / ranks;
  return tried;
}

Tried try_top_k(double share, std::span<const float> sample, int ranks, const Clock& clock) {
  const std::size_t count = sample.size(), entries = TopK::entries(count, share);
  Tried tried{.encoded_bytes = TopK::encoded_bytes(entries)};
  TopK codec;
  std::vector<std::byte> encoded(tried.encoded_bytes);
  std::vector<float> residual(count);
  tried.encode_us = least_us(clock, [&] {
    std::ranges::fill(residual, 0.0f);
    codec.encode(sample.data(), residual.data(), residual.data(), count, entries, encoded.data());
  });
  tried.decode_us = least_us(clock, [&] {
    tried.result.assign(count, 0.0f);
    (void)add_top_k(encoded, count, tried.result.data());
  });
  tried.decode_us *= ranks;
  return tried;
}

// As it is where no matrix pays: a vector, say.
Tried try_power_sgd(int rank, const GradientSample& sample, const Clock& clock) {
  const std::span<const float> in = sample.elements;
  const std::size_t columns =
      sample.columns > 0 ? sample.columns : MatrixShape::square_columns(in.size());
  const MatrixShape shape = MatrixShape::of(in.size(), columns, static_cast<std::size_t>(rank));
  if (!shape.pays())
    return {.encoded_bytes = in.size_bytes(), .operations = 2, .result = {in.begin(), in.end()}};
  std::vector<float> p(shape.p_floats()), q(shape.q_floats()), basis(shape.q_floats());
  complete_basis(basis, shape.columns, in.size());
  PowerSgd codec(shape, basis, in.size());
  Tried tried{.encoded_bytes = (p.size() + q.size()) * sizeof(float), .operations = 2};
  tried.result.resize(in.size());
  std::vector<float> residual(in.size());
  tried.encode_us = least_us(clock, [&] {
    std::ranges::fill(residual, 0.0f);
    codec.project(in.data(), residual.data(), p);
    codec.back_project(in.data(), residual.data(), residual.data(), p, q);
    codec.expand(p, q, tried.result.data());
  });
  return tried;
}

}  // namespace

bool needs_feedback(Codec codec) {
  if (codec == Codec::kNone) return false;
  const DenseCodec* const dense = find_dense_codec(codec);
  return dense == nullptr || dense->needs_feedback;
}

CodecPolicy::CodecPolicy(const GradientOptions& options, int ranks)
    : options_(options),
      ranks_(ranks),
      rules_{.error_budget = options.codec == Codec::kAuto
                                 ? options.error_budget
                                 : std::numeric_limits<double>::infinity()} {
  for (const Codec codec : candidates_of(options))
    candidates_.push_back({.figures = {.codec = codec}});
  if (is_forced()) current_ = options.codec;
}

bool CodecPolicy::keeps_residuals() const {
  return std::ranges::any_of(
      candidates_, [](const Candidate& one) { return needs_feedback(one.figures.codec); });
}

CodecFigures CodecPolicy::measured(Codec codec, const GradientSample& given,
                                   const Clock& clock) const {
  CodecFigures figures{.codec = codec};
  const std::span<const float> sample = given.elements;
  if (sample.empty()) return figures;
  const DenseCodec* const dense = find_dense_codec(codec);
  const Tried tried = dense != nullptr ? try_dense(*dense, sample, ranks_, clock)
                      : codec == Codec::kTopK
                          ? try_top_k(options_.top_k_share, sample, ranks_, clock)
                          : try_power_sgd(options_.power_sgd_rank, given, clock);
  const auto bytes = static_cast<double>(sample.size_bytes());
  figures.encode_us_per_byte = tried.encode_us / bytes;
  figures.decode_us_per_byte = tried.decode_us / bytes;
  figures.encoded_share = static_cast<double>(tried.encoded_bytes) / bytes;
  figures.operations = tried.operations;
  figures.relative_error = relative_error(sample, tried.result);
  // A shard's sum is rounded again, behind the average of its ranks' roundings.
  if (dense != nullptr) figures.relative_error *= std::sqrt(1 + 1.0 / ranks_);
  return figures;
}

void CodecPolicy::tell(const GradientSample& sample, const Clock& clock,
                       std::vector<double>& told) const {
  for (const Candidate& one : candidates_) {
    const CodecFigures figures = measured(one.figures.codec, sample, clock);
    told.insert(told.end(),
                {figures.encode_us_per_byte, figures.decode_us_per_byte, figures.encoded_share,
                 static_cast<double>(figures.operations), figures.relative_error});
  }
}

void CodecPolicy::hear(std::span<const double> told) {
  has_heard_ = true;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const std::span<const double> of = told.subspan(i * kNumbers, kNumbers);
    const double ranks = ranks_;
    candidates_[i].figures = {.codec = candidates_[i].figures.codec,
                              .encode_us_per_byte = of[0] / ranks,
                              .decode_us_per_byte = of[1] / ranks,
                              .encoded_share = of[2] / ranks,
                              .operations = static_cast<int>(std::lround(of[3] / ranks)),
                              .relative_error = of[4] / ranks};
  }
}

CodedBucket CodecPolicy::bucket(std::size_t bytes, const PathCost& path) const {
  return {.bytes = bytes, .ranks = ranks_, .path = path};
}

Codec CodecPolicy::choose(std::size_t bytes, const PathCost& path) const {
  if (!has_heard_ || is_forced()) return current_;
  std::vector<CodecFigures> figures;
  for (const Candidate& one : candidates_) figures.push_back(one.figures);
  return choose_codec(current_, figures, bucket(bytes, path), rules_);
}

PathCost CodecPolicy::path_of(Codec codec, const PathCost& path) const {
  for (const Candidate& one : candidates_) {
    if (one.figures.codec != codec || !has_heard_) continue;
    // Of a large one: what is not of its size vanishes beside the rest. As if none overlapped: what
    // the work between a bucket's operations leaves of that has not been measured.
    constexpr std::size_t kLarge = std::size_t{1} << 30;
    const CodecTimes times = times_of(one.figures, bucket(kLarge, path));
    return {.alpha_us = one.figures.operations * path.alpha_us,
            .beta_us = times.wire_us / static_cast<double>(kLarge)};
  }
  return path;
}

std::vector<std::string> CodecPolicy::news(std::size_t bytes, const PathCost& path) {
  std::vector<std::string> news;
  for (Candidate& one : candidates_) {
    if (one.was_told_off || options_.forces_codec || one.figures.codec == current_) continue;
    const auto why = why_off(one.figures, bucket(bytes, path), rules_);
    if (!why) continue;
    one.was_told_off = true;
    news.push_back(*why);
  }
  return news;
}

}  // namespace paceline
