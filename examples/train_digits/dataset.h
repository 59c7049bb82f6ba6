// Handwritten digits for the trainer, read from a comma-separated file, plain or gzip.
//
// Example:
//   const Dataset data = load_dataset("digits.csv.gz").value();
//   Random random(1);
//   const Split split = split_fifth(data.size(), random);
//   data.image(split.train[0]);  // 64 floats, row by row
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "examples/train_digits/random.h"

namespace digits {

inline constexpr std::size_t kPixels = 64;  // 8 x 8
inline constexpr std::size_t kClasses = 10;

/// Indices of images in a Dataset.
using Samples = std::span<const std::uint32_t>;

/// All images of a file. A value.
struct Dataset {
  std::vector<float> pixels;         ///< kPixels per image, from -1 (paper) to 1 (ink)
  std::vector<std::uint8_t> labels;  ///< 0..9, one per image

  std::size_t size() const { return labels.size(); }
  std::span<const float> image(std::size_t index) const {
    return std::span(pixels).subspan(index * kPixels, kPixels);
  }
};

/// Reads lines of 64 numbers 0..16 and a label 0..9, separated by commas. An error names the file,
/// the line and the reason. A file without images is an error.
paceline::Result<Dataset> load_dataset(const std::string& path);

/// Indices of images, in random order.
struct Split {
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> held_out;  ///< a fifth of all images, rounded down
};

Split split_fifth(std::size_t count, Random& random);

/// The share of `rank`. Shares are contiguous, cover all samples, and differ in length by at most
/// one. Borrows from `samples`.
Samples share_of(Samples samples, int rank, int ranks);

}  // namespace digits
