// In one thread, bf16, fp16 and int8 must encode and decode 16 MiB of float32 at 70 % or more of
// the bytes per second that libc's memcpy of 16 MiB moves in the same run. Top-k must encode and
// add 2 GB/s of float32 or more. The time of PowerSGD is printed.
//
// Bytes read and bytes written both count. memcpy: twice 16 MiB. A codec: elements and codes, once
// for encode and once for decode, and with feedback also the residual that encode reads and writes.
// Top-k: only the bytes of the elements, over the time to encode 1 % of them and to add these to
// zeros. Each round measures all of them in turn; times are medians over the rounds. Decoded values
// must be right, too.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "collectives/gradient/codecs/dense_codec.h"
#include "collectives/gradient/codecs/power_sgd.h"
#include "collectives/gradient/codecs/top_k.h"
#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/bytes.h"
#include "tests/harness/figure.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kBytes = std::size_t{16} << 20;
constexpr std::size_t kCount = kBytes / sizeof(float);
constexpr double kLeastShare = 0.7, kMostError = 0.01;
constexpr double kLeastTopK = 2e9, kTopKShare = 0.01;
constexpr std::size_t kPowerSgdRank = 4;
constexpr int kRounds = 101, kFewRounds = 3;

template <class Work>
double seconds_of(const Work& work) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  work();
  return std::chrono::duration<double>(clock.now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Like gradients: of no particular size, most of them small.
std::vector<float> elements() {
  Random random(5);
  std::vector<float> all(kCount);
  for (float& one : all) {
    const double sum = random.unit() + random.unit() + random.unit() + random.unit() - 2;
    one = static_cast<float>(sum * 0.01);
  }
  return all;
}

double relative_error(const std::vector<float>& in, const std::vector<float>& out) {
  double lost = 0, all = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double difference = double{out[i]} - double{in[i]};
    lost += difference * difference;
    all += double{in[i]} * double{in[i]};
  }
  return std::sqrt(lost / all);
}

// Medians over the rounds.
struct Times {
  double copy_s = 0, encode_s = 0, decode_s = 0;
};

Times measure(const DenseCodec& codec, float* residual, int rounds, const std::vector<float>& in,
              std::vector<float>& decoded) {
  std::vector<float> copied(kCount);
  Bytes codes(codec.encoded_bytes(kCount));
  const auto copy = [&] { std::memcpy(copied.data(), in.data(), kBytes); };
  const auto encode = [&] { codec.encode(in.data(), residual, residual, kCount, codes.data()); };
  const auto decode = [&] { codec.decode(codes.data(), kCount, decoded.data()); };
  copy(), encode(), decode();
  std::vector<double> copies_s, encodes_s, decodes_s;
  for (int round = 0; round < rounds; ++round) {
    copies_s.push_back(seconds_of(copy));
    encodes_s.push_back(seconds_of(encode));
    decodes_s.push_back(seconds_of(decode));
  }
  return {.copy_s = median(copies_s), .encode_s = median(encodes_s), .decode_s = median(decodes_s)};
}

// The share of memcpy's rate; below 0 where what is decoded is wrong.
double share_of(const DenseCodec& codec, bool feeds_back, int rounds,
                const std::vector<float>& in) {
  std::vector<float> residual(kCount), decoded(kCount);
  const Times times = measure(codec, feeds_back ? residual.data() : nullptr, rounds, in, decoded);
  const auto decoded_bytes = static_cast<double>(kBytes + codec.encoded_bytes(kCount));
  const double encoded_bytes = decoded_bytes + (feeds_back ? 2.0 * kBytes : 0.0);
  const double copied_a_second = 2.0 * kBytes / times.copy_s;
  const double share =
      (encoded_bytes + decoded_bytes) / (times.encode_s + times.decode_s) / copied_a_second;
  const double error = relative_error(in, decoded);
  std::printf(
      "  %-4s %-13s encode %5.1f GB/s, decode %5.1f GB/s, both %.2f of memcpy's %.1f GB/s; "
      "error %.2g %%\n",
      std::string(name(codec.codec)).c_str(), feeds_back ? "with feedback" : "",
      encoded_bytes / times.encode_s / 1e9, decoded_bytes / times.decode_s / 1e9, share,
      copied_a_second / 1e9, 100 * error);
  return error <= kMostError ? share : -1;
}

// Whether `added` and `residual` together are `in`: what has been taken, and all else.
bool is_all_there(const std::vector<float>& in, const std::vector<float>& added,
                  const std::vector<float>& residual) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (added[i] + residual[i] != in[i]) return false;
  }
  return true;
}

// Bytes of elements a second; below 0 where what is added up is wrong.
double top_k_rate(const std::string& what, bool feeds_back, int rounds,
                  const std::vector<float>& in) {
  const std::size_t k = TopK::entries(kCount, kTopKShare);
  std::vector<float> residual(kCount), added(kCount);
  Bytes entries(TopK::encoded_bytes(k));
  TopK top_k;
  bool is_right = true;
  float* const kept = feeds_back ? residual.data() : nullptr;
  const auto encode = [&] {
    is_right &= top_k.encode(in.data(), kept, kept, kCount, k, entries.data());
  };
  const auto add = [&] { is_right &= add_top_k(entries, kCount, added.data()); };
  encode(), add();
  is_right &= !feeds_back || is_all_there(in, added, residual);
  std::vector<double> rates, adds_ms;
  for (int round = 0; round < rounds; ++round) {
    const double encode_s = seconds_of(encode), add_s = seconds_of(add);
    rates.push_back(kBytes / (encode_s + add_s));
    adds_ms.push_back(add_s * 1e3);
  }
  std::printf("  topk %-13s %4.1f GB/s of %s; of that %.2f ms to add\n",
              feeds_back ? "with feedback" : "", median(rates) / 1e9, what.c_str(),
              median(adds_ms));
  return is_right ? median(rates) : -1;
}

// False where what it loses is not in the residual.
bool power_sgd_is_right(int rounds, const std::vector<float>& in) {
  const MatrixShape shape =
      MatrixShape::of(kCount, MatrixShape::square_columns(kCount), kPowerSgdRank);
  std::vector<float> p(shape.p_floats()), q(shape.q_floats()), basis(shape.q_floats());
  complete_basis(basis, shape.columns, 1);
  PowerSgd codec(shape, basis, 1);
  std::vector<float> residual(kCount), out(kCount);
  std::vector<double> project_ms, back_ms, expand_ms;
  bool is_right = true;
  for (int round = 0; round < rounds; ++round) {
    std::ranges::fill(residual, 0.0F);
    project_ms.push_back(1e3 * seconds_of([&] { codec.project(in.data(), residual.data(), p); }));
    back_ms.push_back(1e3 * seconds_of([&] {
                        codec.back_project(in.data(), residual.data(), residual.data(), p, q);
                      }));
    expand_ms.push_back(1e3 * seconds_of([&] { is_right &= codec.expand(p, q, out.data()); }));
  }
  for (std::size_t i = 0; i < kCount; ++i)
    is_right &= std::abs(out[i] + residual[i] - in[i]) <= 1e-6F;
  std::printf(
      "  powersgd of rank %zu: %.1f ms for P, %.1f ms for Q and what is lost, %.1f ms to "
      "expand; %.2f %% of the bytes\n",
      kPowerSgdRank, median(project_ms), median(back_ms), median(expand_ms),
      100.0 * static_cast<double>(p.size() + q.size()) / kCount);
  return is_right;
}

int run() {
  const std::vector<float> in = elements();
  double least = 1e9, least_top_k = 1e18;
  bool is_right = power_sgd_is_right(kFewRounds, in);
  for (const bool feeds_back : {false, true}) {
    for (const DenseCodec& codec : dense_codecs())
      least = std::min(least, share_of(codec, feeds_back, kRounds, in));
    least_top_k = std::min(least_top_k, top_k_rate("such elements", feeds_back, kRounds, in));
    is_right &=
        top_k_rate("equal ones", feeds_back, kFewRounds, std::vector<float>(kCount, 0.5F)) > 0;
  }
  if (!is_right || least < 0 || least_top_k < 0) {
    std::printf("what a codec decodes is not what it encoded\n");
    return 1;
  }
  const bool is_fast = report({.name = "dense codecs, share of memcpy's rate",
                               .value = least,
                               .unit = "x",
                               .better = Better::kHigher,
                               .wanted = kLeastShare});
  const bool top_k_is_fast = report({.name = "top-k, elements",
                                     .value = least_top_k / 1e9,
                                     .unit = "GB/s",
                                     .better = Better::kHigher,
                                     .wanted = kLeastTopK / 1e9});
  std::printf(
      "codecs move at least %.2f of the bytes a second that memcpy moves (%.2f wanted), "
      "top-k takes %.1f GB/s (%.0f wanted)\n",
      least, kLeastShare, least_top_k / 1e9, kLeastTopK / 1e9);
  return is_fast && top_k_is_fast ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main() { return paceline::testing::run(); }
