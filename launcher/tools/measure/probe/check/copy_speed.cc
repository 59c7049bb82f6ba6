#include "launcher/tools/measure/probe/check/copy_speed.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <sys/mman.h>

namespace paceline::probe {
namespace {

// With its source it exceeds the caches that a thread can use.
constexpr std::size_t kBytes = std::size_t{64} << 20;
constexpr int kLeastCopies = 2;  // the first one gets the pages from the kernel

class Pages {
 public:
  Pages()
      : memory_(::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0)) {}
  ~Pages() {
    if (has_memory()) ::munmap(memory_, 2 * kBytes);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  bool has_memory() const { return memory_ != MAP_FAILED; }
  std::byte* begin() const { return static_cast<std::byte*>(memory_); }

 private:
  void* const memory_;
};

}  // namespace

double copy_speed(const Clock& clock, Duration time) {
  const Pages pages;
  if (!pages.has_memory()) return 0;
  std::memset(pages.begin(), 1, kBytes);  // else all its pages are the same page of zeros
  const Deadline end = Deadline::after(clock, time);
  double fastest = 0;
  for (int i = 0; i < kLeastCopies || !end.passed(clock.now()); ++i) {
    const TimePoint begin = clock.now();
    std::memcpy(pages.begin() + kBytes, pages.begin(), kBytes);
    const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
    if (seconds > 0) fastest = std::max(fastest, kBytes / seconds);
  }
  return fastest;
}

}  // namespace paceline::probe
