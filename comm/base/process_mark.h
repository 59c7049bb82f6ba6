// Tells the process that has made an object from children that were forked from it. A child has a
// copy of every object, but not the threads that serve it, nor the right to speak for its parent.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <sys/types.h>

#include <paceline/status.h>

namespace paceline {

/// Of the process that constructs it. The kernel clears a page of every child that gets a copy of
/// the memory (MADV_WIPEONFORK), so a child is recognised however it was made: by fork(), _Fork(),
/// or a bare clone or fork system call, also where it has its parent's process id in a namespace of
/// its own. Kernels without it (before Linux 4.14): by fork() only. No system call but the first
/// time. Any thread; in a child also before it executes a program.
class ProcessMark {
 public:
  ProcessMark() : token_(own_token()), made_by_(here_.process_id.load(std::memory_order_relaxed)) {}

  bool is_of_this_process() const { return token_ == here_.token.load(std::memory_order_relaxed); }
  /// Why a call on `what`, a noun, is refused where it is not: Code::kInvalidArgument.
  [[gnu::cold]] Status refusal(std::string_view what) const;

 private:
  // A page of its own: the kernel clears whole pages.
  static constexpr std::size_t kPageBytes = 4096;
  struct alignas(kPageBytes) Page {
    std::atomic<std::uint64_t> token{0};  // 0: this process has made no mark yet
    std::atomic<pid_t> process_id{0};     // once there is a token
  };
  static_assert(sizeof(Page) == kPageBytes);

  static std::uint64_t own_token() {
    const std::uint64_t known = here_.token.load(std::memory_order_acquire);
    return known != 0 ? known : enter_process();
  }
  [[gnu::cold]] static std::uint64_t enter_process();
  static bool clear_in_children();

  static Page here_;

  std::uint64_t token_;
  pid_t made_by_;
};

}  // namespace paceline
