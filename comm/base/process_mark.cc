#include "comm/base/process_mark.h"

#include <string>

#include <pthread.h>
#include <unistd.h>

namespace paceline {

constinit std::atomic<std::uint64_t> ProcessMark::forks_{0};
constinit std::atomic<pid_t> ProcessMark::own_pid_{0};

void ProcessMark::enter_child() {
  forks_.fetch_add(1, std::memory_order_relaxed);
  own_pid_.store(::getpid(), std::memory_order_relaxed);
}

pid_t ProcessMark::watch_forks() {
  // It fails only where there is no memory for a few words.
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, &enter_child);
  own_pid_.store(::getpid(), std::memory_order_relaxed);
  return own_pid_.load(std::memory_order_relaxed);
}

Status ProcessMark::refusal(std::string_view what) const {
  const std::string maker = std::to_string(made_by_);
  return Status(Code::kInvalidArgument, Scope::kProcess,
                "this " + std::string(what) + " belongs to process " + maker +
                    " and cannot be used in process " + std::to_string(::getpid()) +
                    ", which was forked from it; use it in process " + maker +
                    ", or call exec in the child, which can then join a group of its own");
}

}  // namespace paceline
