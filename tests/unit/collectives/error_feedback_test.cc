#include "collectives/gradient/error_feedback.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

constexpr std::size_t kElements = 12;
using Floats = std::vector<float>;

ByteSpan span_of(std::size_t first, std::size_t count) {
  return {.begin = first * sizeof(float), .bytes = count * sizeof(float)};
}

Floats saved(const ErrorFeedback& feedback) {
  Bytes bytes(3);  // save() appends
  feedback.save(bytes);
  Floats floats(feedback.elements());
  EXPECT_EQ(bytes.size(), 3 + floats.size() * sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), bytes.data() + 3, bytes.size() - 3);
  return floats;
}

void lose(ErrorFeedback& feedback, std::size_t first, std::size_t count, float value) {
  std::fill_n(feedback.lost(first), count, value);
}

TEST(ErrorFeedback, IsOfZerosAtFirst) {
  const ErrorFeedback feedback(kElements);
  EXPECT_TRUE(feedback.is_kept());
  EXPECT_EQ(saved(feedback), Floats(kElements));
  EXPECT_FALSE(ErrorFeedback(0).is_kept());
  EXPECT_EQ(saved(ErrorFeedback(0)), Floats());
}

TEST(ErrorFeedback, OfAStepThatDoesNotCountLeavesNothing) {
  ErrorFeedback feedback(kElements);
  feedback.set_spans({span_of(2, 4)});
  lose(feedback, 2, 4, 1);
  feedback.commit();
  for (const float bad : {7.0F, 8.0F}) {
    EXPECT_EQ(feedback.kept(2)[3], 1);
    lose(feedback, 2, 4, bad);  // without commit()
  }
  EXPECT_EQ(saved(feedback), (Floats{0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
  lose(feedback, 2, 4, 2);
  feedback.commit();
  EXPECT_EQ(feedback.kept(5)[0], 2);
}

TEST(ErrorFeedback, IsScaledAndClearedInBothArrays) {
  ErrorFeedback feedback(kElements);
  feedback.set_spans({span_of(2, 4)});
  for (const float value : {4.0F, 8.0F}) {
    lose(feedback, 2, 4, value);
    feedback.commit();
    feedback.scale(0.5F);
    EXPECT_EQ(feedback.kept(2)[0], value / 2);
  }
  feedback.scale(1e38F);
  EXPECT_EQ(saved(feedback), Floats(kElements)) << "not finite";
  lose(feedback, 2, 4, 3);
  feedback.commit();
  feedback.clear(span_of(3, 2));
  EXPECT_EQ(saved(feedback), (Floats{0, 0, 3, 0, 0, 3, 0, 0, 0, 0, 0, 0}));
}

TEST(ErrorFeedback, StaysWhereItIsWhenBucketsChange) {
  ErrorFeedback feedback(kElements);
  feedback.set_spans({span_of(0, 3), span_of(6, 2)});
  lose(feedback, 0, 3, 1);
  lose(feedback, 6, 2, 2);
  feedback.commit();
  feedback.set_spans({span_of(0, 2)});  // the other spans are not written
  lose(feedback, 0, 2, 3);
  feedback.commit();
  const Floats expected = {3, 3, 1, 0, 0, 0, 2, 2, 0, 0, 0, 0};
  EXPECT_EQ(saved(feedback), expected);
  feedback.set_spans({});
  EXPECT_EQ(saved(feedback), expected);
  feedback.set_spans({span_of(0, kElements)});
  for (std::size_t i = 0; i < kElements; ++i) EXPECT_EQ(feedback.kept(i)[0], expected[i]);
}

TEST(ErrorFeedback, GoesOnFromWhatIsLoaded) {
  ErrorFeedback feedback(kElements);
  feedback.set_spans({span_of(0, 5)});
  lose(feedback, 0, 5, 1);
  feedback.commit();
  const Floats other(kElements, 4);
  feedback.load(other);
  EXPECT_EQ(saved(feedback), other);
  EXPECT_EQ(feedback.kept(4)[0], 4);
}

}  // namespace
}  // namespace paceline
