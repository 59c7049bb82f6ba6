// Tells the process that has made an object from children that were forked from it. A child has a
// copy of every object, but not the threads that serve it, nor the right to speak for its parent.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <sys/types.h>

#include <paceline/status.h>

namespace paceline {

/// Of the process that constructs it. Sees every child of fork(); one of a bare clone() or fork
/// system call, without the C library, is taken for its parent. No system call but the first time.
/// Any thread; in a child also before it executes a program.
class ProcessMark {
 public:
  ProcessMark() : made_by_(own_pid()), forks_before_(forks_.load(std::memory_order_relaxed)) {}

  bool is_of_this_process() const {
    return forks_before_ == forks_.load(std::memory_order_relaxed);
  }
  /// Why a call on `what`, a noun, is refused where it is not: Code::kInvalidArgument.
  [[gnu::cold]] Status refusal(std::string_view what) const;

 private:
  static pid_t own_pid() {
    const pid_t known = own_pid_.load(std::memory_order_relaxed);
    return known != 0 ? known : watch_forks();
  }
  [[gnu::cold]] static pid_t watch_forks();
  static void enter_child();

  static std::atomic<std::uint64_t> forks_;  // between the first process and this one
  static std::atomic<pid_t> own_pid_;        // 0: not known yet

  pid_t made_by_;
  std::uint64_t forks_before_;
};

}  // namespace paceline
