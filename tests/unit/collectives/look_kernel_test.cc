// Kernels that look at gradients, as a fake device runs them, against the CPU's own look.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/gradient/arithmetic.h"
#include "collectives/gradient/kernels/look.h"
#include "collectives/reduce/elements.h"
#include "comm/base/random.h"
#include "comm/base/with_type.h"
#include "tests/harness/cpu_kernels.h"

namespace paceline {
namespace {

constexpr std::array kTypes = {std::pair(DataType::kFloat16, "paceline_look_float16"),
                               std::pair(DataType::kBFloat16, "paceline_look_bfloat16"),
                               std::pair(DataType::kFloat32, "paceline_look_float32"),
                               std::pair(DataType::kFloat64, "paceline_look_float64")};

struct Elements {
  DataType type{};
  std::vector<std::byte> memory;
  std::byte* begin = nullptr;  // aligned
  std::size_t count = 0;

  Elements(DataType of, std::size_t length)
      : type(of), memory(length * size_of(of) + 16), count(length) {
    begin = memory.data() + 15 - (reinterpret_cast<std::uintptr_t>(memory.data()) + 15) % 16;
  }
  void set(std::size_t place, double value) {
    with_type(type, [&]<class T>(T) {
      reduce::store_element<T>(begin, place, static_cast<reduce::Wide<T>>(value));
    });
  }
};

struct Sum {
  std::uint64_t first = on_device::Findings::kNone;
  double squares = 0;
};

class Looks {
 public:
  explicit Looks(const char* kernel) : kernel_(*testing::find_cpu_kernel(kernel)) {}

  void add(const Elements& elements, std::uint64_t offset) {
    const on_device::LookArguments arguments{.elements = elements.begin,
                                             .bytes = elements.count * size_of(elements.type),
                                             .offset = offset,
                                             .findings = findings_.data(),
                                             .goes_on = goes_on_ ? 1u : 0u};
    goes_on_ = true;
    kernel_.run(&arguments, on_device::kBlocks);
  }
  Sum sum() const {
    Sum all;
    for (const on_device::Findings& one : findings_) {
      all.first = std::min(all.first, one.first_overflow);
      all.squares += one.sum_of_squares;
    }
    return all;
  }

 private:
  const testing::CpuKernel& kernel_;
  std::vector<on_device::Findings> findings_ = std::vector<on_device::Findings>(on_device::kBlocks);
  bool goes_on_ = false;
};

TEST(LookKernel, FindsWhatTheCpuFinds) {
  Random random(1);
  for (const auto& [type, kernel] : kTypes) {
    for (const std::size_t count :
         std::initializer_list<std::size_t>{0, 1, 3, 4, 7, 8, 63, 1000, 131072, 400001}) {
      Elements elements(type, count);
      for (std::size_t i = 0; i < count; ++i) elements.set(i, random.unit() - 0.5);
      Looks looks(kernel);
      looks.add(elements, 0);
      const Finished expected =
          finish_elements(type, elements.begin, count, {.sums_squares = true});
      EXPECT_EQ(looks.sum().first, on_device::Findings::kNone);
      EXPECT_NEAR(looks.sum().squares, expected.sum_of_squares, 1e-12 * expected.sum_of_squares)
          << kernel << " " << count;
    }
  }
}

TEST(LookKernel, NamesTheFirstOverflowOfAllSpans) {
  Random random(2);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto& [type, kernel] : kTypes) {
    for (int trial = 0; trial < 20; ++trial) {
      const std::size_t count = 1 + random.below(5000);
      Elements before(type, 1000), elements(type, count);
      const std::size_t place = random.below(count);
      for (std::size_t i = place; i < count; i += 1 + random.below(100))
        elements.set(i, std::array{kInfinity, -kInfinity, std::nan("")}[random.below(3)]);
      Looks looks(kernel);
      looks.add(before, 64);
      looks.add(elements, 64 * 1000);
      looks.add(before, 64 * 100000);
      EXPECT_EQ(looks.sum().first, 64 * 1000 + place * size_of(type)) << kernel;
      EXPECT_FALSE(std::isfinite(looks.sum().squares));
    }
  }
}

}  // namespace
}  // namespace paceline
