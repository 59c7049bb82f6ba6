#include "examples/train_digits/dataset.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <numeric>
#include <string_view>

#include <zlib.h>

namespace digits {
namespace {

using paceline::Code;
using paceline::Result;
using paceline::Scope;
using paceline::Status;

constexpr int kMaxInk = 16;
constexpr std::size_t kMaxLineBytes = 512;  // 65 numbers take at most 194
constexpr std::size_t kMaxImages = 1'000'000;

struct GzClose {
  void operator()(gzFile file) const { gzclose(file); }
};
using GzReader = std::unique_ptr<gzFile_s, GzClose>;

Status bad_data(std::string text) {
  return Status(Code::kInvalidArgument, Scope::kNone, std::move(text));
}

/// Parses one number 0..highest at the front of `line`, and removes it and the comma after it.
Status take_number(std::string_view& line, std::size_t column, int highest, int& value) {
  const std::string_view field = line.substr(0, line.find(','));
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || value < 0 || value > highest) {
    return bad_data("column " + std::to_string(column) + " is \"" + std::string(field) +
                    "\", not a number 0.." + std::to_string(highest));
  }
  line.remove_prefix(std::min(field.size() + 1, line.size()));
  return {};
}

Status parse_line(std::string_view line, Dataset& into) {
  const std::size_t columns =
      1 + static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
  if (columns != kPixels + 1) {
    return bad_data(std::to_string(columns) + " columns, not 65 (64 pixels and a label)");
  }
  int value = 0;
  for (std::size_t column = 1; column <= kPixels; ++column) {
    if (Status status = take_number(line, column, kMaxInk, value); !status.ok()) return status;
    into.pixels.push_back(static_cast<float>(value) / (kMaxInk / 2.0f) - 1.0f);
  }
  if (Status status = take_number(line, kPixels + 1, kClasses - 1, value); !status.ok()) {
    return status;
  }
  into.labels.push_back(static_cast<std::uint8_t>(value));
  return {};
}

/// The reason why reading failed; a success at the regular end of the file.
Status read_error(gzFile file) {
  int code = Z_OK;
  const char* reason = gzerror(file, &code);
  if (code == Z_OK || code == Z_STREAM_END) return {};
  return Status(
      Code::kUnavailable, Scope::kNone,
      std::string("cannot be read: ") + (code == Z_ERRNO ? std::strerror(errno) : reason));
}

/// Parses one line from gzgets().
Status take_line(gzFile file, std::string_view line, Dataset& into) {
  if (line.ends_with('\n')) {
    line.remove_suffix(1);
  } else if (Status status = read_error(file); !status.ok()) {
    return status;  // the file ends in the middle of a line
  } else if (!gzeof(file)) {
    return bad_data("longer than 510 characters, or not text");
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (into.size() == kMaxImages) return bad_data("more than 1000000 images");
  return parse_line(line, into);
}

Status read_lines(gzFile file, Dataset& into) {
  char buffer[kMaxLineBytes];
  const auto here = [&into] { return "line " + std::to_string(into.size() + 1); };
  while (gzgets(file, buffer, sizeof buffer) != nullptr) {
    if (Status status = take_line(file, buffer, into); !status.ok()) {
      return status.with_context(here());
    }
  }
  return read_error(file).with_context(here());
}

}  // namespace

Result<Dataset> load_dataset(const std::string& path) {
  errno = 0;
  const GzReader file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) {
    const char* reason = errno != 0 ? std::strerror(errno) : "out of memory";
    return Status(Code::kUnavailable, Scope::kNone, "cannot open " + path + ": " + reason);
  }
  Dataset data;
  if (Status status = read_lines(file.get(), data); !status.ok()) return status.with_context(path);
  if (data.size() == 0) return bad_data(path + ": no image in it");
  return data;
}

Split split_fifth(std::size_t count, Random& random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  random.shuffle(std::span(order));
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count / 5);
  return {.train{middle, order.end()}, .held_out{order.begin(), middle}};
}

Samples share_of(Samples samples, int rank, int ranks) {
  const auto cut = [&](int before) {
    return samples.size() * static_cast<std::size_t>(before) / static_cast<std::size_t>(ranks);
  };
  return samples.subspan(cut(rank), cut(rank + 1) - cut(rank));
}

}  // namespace digits
