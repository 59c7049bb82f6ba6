#include "collectives/gradient/error_feedback.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace paceline {

void ErrorFeedback::set_spans(std::vector<ByteSpan> spans) {
  for (const ByteSpan& span : spans_) {
    const std::size_t first = span.begin / sizeof(float);
    if (is_other_) std::copy_n(&other_[first], span.bytes / sizeof(float), &settled_[first]);
  }
  is_other_ = false;
  spans_ = std::move(spans);
  if (!spans_.empty()) other_.resize(settled_.size());
}

void ErrorFeedback::save(Bytes& into) const {
  const std::size_t begin = into.size();
  into.resize(begin + settled_.size() * sizeof(float));
  if (settled_.empty()) return;
  std::memcpy(&into[begin], settled_.data(), settled_.size() * sizeof(float));
  for (const ByteSpan& span : spans_)
    std::memcpy(&into[begin + span.begin], kept(span.begin / sizeof(float)), span.bytes);
}

void ErrorFeedback::scale(float factor) {
  for (std::vector<float>* const all : {&settled_, &other_}) {
    for (float& one : *all) {
      one *= factor;
      if (!std::isfinite(one)) one = 0;
    }
  }
}

void ErrorFeedback::clear(const ByteSpan& part) {
  for (std::vector<float>* const all : {&settled_, &other_})
    if (!all->empty())
      std::fill_n(&(*all)[part.begin / sizeof(float)], part.bytes / sizeof(float), 0.0f);
}

void ErrorFeedback::load(std::span<const float> elements) {
  std::ranges::copy(elements, settled_.begin());
  is_other_ = false;
}

}  // namespace paceline
