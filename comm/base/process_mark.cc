#include "comm/base/process_mark.h"

#include <string>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace paceline {
namespace {

// Never reset. So a process never gets the token of a process that it was forked from.
constinit std::atomic<std::uint64_t> last_token{0};

}  // namespace

constinit ProcessMark::Page ProcessMark::here_;

bool ProcessMark::clear_in_children() {
  if (::madvise(&here_, sizeof here_, MADV_WIPEONFORK) == 0) return true;
  // Fails only if there is no memory for a few words.
  return ::pthread_atfork(nullptr, nullptr, [] { here_.token.store(0); }) == 0;
}

std::uint64_t ProcessMark::enter_process() {
  // Children inherit this setting.
  [[maybe_unused]] static const bool is_cleared = clear_in_children();
  here_.process_id.store(::getpid(), std::memory_order_relaxed);
  std::uint64_t token = 0;
  const std::uint64_t next = last_token.fetch_add(1) + 1;
  return here_.token.compare_exchange_strong(token, next) ? next : token;
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
