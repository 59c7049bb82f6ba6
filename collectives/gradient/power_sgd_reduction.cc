// Reduces buckets as low-rank matrices: an all-reduce of all P and of the uncompressed elements,
// then one of all Q.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "collectives/gradient/codecs/power_sgd.h"
#include "collectives/gradient/codecs/with_residual.h"
#include "collectives/gradient/coded_reduction.h"
#include "collectives/gradient/low_rank_bases.h"
#include "collectives/gradient/whole_reduction.h"
#include "collectives/requests.h"

namespace paceline {
namespace {

// A vector, or a matrix that a low rank would not shorten.
struct Plain {
  std::span<float> elements;
  std::size_t first;  // element of the bucket
  std::span<float> travels;

  // A residual can exist from a time when these elements were part of a matrix.
  void pack(const CodedPlace& place) const {
    const float* const residual = place.residual(first);
    for (std::size_t i = 0; i < elements.size(); ++i)
      travels[i] = with_residual(elements.data(), residual, i);
  }
  // The error is zero.
  void unpack(const CodedPlace& place) const {
    std::ranges::copy(travels, elements.begin());
    if (float* const lost = place.lost(first)) std::fill_n(lost, elements.size(), 0.0F);
  }
};

struct Matrix {
  PowerSgd codec;
  float* elements;
  std::size_t first;  // element of the bucket
  std::span<float> p, q;
};

class PowerSgdReduction final : public WholeReduction {
 public:
  PowerSgdReduction(const BucketSite& site, const CodedPlace& place,
                    std::span<const LowRankPart> parts, LowRankBases& bases)
      : WholeReduction(site, place) {
    std::size_t first = 0, second = 0;  // floats
    for (const LowRankPart& part : parts) {
      first += part.shape.pays() ? part.shape.p_floats() : part.shape.count;
      second += part.shape.pays() ? part.shape.q_floats() : 0;
    }
    travels_[0].resize(first);
    travels_[1].resize(second);
    enter(parts, bases);
  }

  std::size_t operations() const override { return 2; }
  void begin() override {
    WholeReduction::begin();
    matrix_ = 0;
  }

  bool work(std::size_t stage, StepTally& tally) override {
    if (matrix_ == 0) work_on_plain_ones(stage, tally);
    work_on_some(stage);
    if (matrix_ < matrices_.size()) return false;
    if (stage == operations()) return finish_next(tally);
    matrix_ = 0;
    return true;
  }

  std::size_t plain_bytes(std::size_t operation) const override {
    return travels_[operation].size() * sizeof(float);
  }

  OperationRequest request(std::size_t operation, bool) override {
    const std::span<float> floats = travels_[operation];
    return requests::all_reduce(floats.data(), floats.data(), floats.size(), DataType::kFloat32);
  }

 private:
  void enter(std::span<const LowRankPart> parts, LowRankBases& bases) {
    std::span<float> first = travels_[0], second = travels_[1];
    const auto take = [](std::span<float>& from, std::size_t count) {
      return std::exchange(from, from.subspan(count)).first(count);
    };
    for (const LowRankPart& part : parts) {
      auto* const elements = reinterpret_cast<float*>(site_.at(part.begin * sizeof(float)));
      const std::size_t element = part.begin - place_.span.begin / sizeof(float);
      if (part.shape.pays())
        matrices_.push_back(
            {.codec = PowerSgd(part.shape, bases.of(part), LowRankBases::seed_of(part)),
             .elements = elements,
             .first = element,
             .p = take(first, part.shape.p_floats()),
             .q = take(second, part.shape.q_floats())});
      else
        plain_.push_back({.elements = {elements, part.shape.count},
                          .first = element,
                          .travels = take(first, part.shape.count)});
    }
  }

  void work_on_plain_ones(std::size_t stage, StepTally& tally) {
    if (stage == 0) site_.look(place_.span, tally);
    for (const Plain& one : plain_) {
      if (stage == 0) one.pack(place_);
      if (stage == operations()) one.unpack(place_);
    }
  }

  // About a slice's worth, but whole matrices.
  void work_on_some(std::size_t stage) {
    for (std::size_t done = 0; matrix_ < matrices_.size() && done < kSliceBytes; ++matrix_) {
      Matrix& one = matrices_[matrix_];
      done += one.codec.shape().count * sizeof(float);
      const float* const residual = place_.residual(one.first);
      if (stage == 0) one.codec.project(one.elements, residual, one.p);
      if (stage == 1)
        one.codec.back_project(one.elements, residual, place_.lost(one.first), one.p, one.q);
      if (stage == 2) one.codec.expand(one.p, one.q, one.elements);
    }
  }

  std::vector<Matrix> matrices_;
  std::vector<Plain> plain_;
  std::vector<float> travels_[2];  // in each of the operations
  std::size_t matrix_ = 0;         // the next one of a stage
};

}  // namespace

std::unique_ptr<BucketReduction> make_power_sgd_reduction(const BucketSite& site,
                                                          const CodedPlace& place,
                                                          std::span<const LowRankPart> parts,
                                                          LowRankBases& bases) {
  return std::make_unique<PowerSgdReduction>(site, place, parts, bases);
}

}  // namespace paceline
