// Distinguishes the process that created an object from children that were forked from it. A child
// has a copy of every object, but not the threads that serve the object. It must not send anything
// in the name of its parent.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <sys/types.h>

#include <paceline/status.h>

namespace paceline {

/// Marks the process that constructs it. The kernel clears a page in every child that gets a copy
/// of the memory (MADV_WIPEONFORK). So a child is recognised after fork(), _Fork(), and a bare
/// clone or fork system call, even if it has the process id of its parent in another PID namespace.
/// Kernels without MADV_WIPEONFORK (before Linux 4.14) recognise fork() only. Makes a system call
/// only the first time. Any thread; also in a child before it executes a program.
class ProcessMark {
 public:
  ProcessMark() : token_(own_token()), made_by_(here_.process_id.load(std::memory_order_relaxed)) {}

  bool is_of_this_process() const { return token_ == here_.token.load(std::memory_order_relaxed); }
  /// The error for a call in another process: Code::kInvalidArgument. `what` is a noun for the
  /// object.
  [[gnu::cold]] Status refusal(std::string_view what) const;

 private:
  // A page of its own: the kernel clears whole pages.
  static constexpr std::size_t kPageBytes = 4096;
  struct alignas(kPageBytes) Page {
    std::atomic<std::uint64_t> token{0};  // 0: this process has made no mark yet
    std::atomic<pid_t> process_id{0};     // valid once there is a token
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
