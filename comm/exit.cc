#include "comm/exit.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <openssl/crypto.h>
#include <sched.h>

#include "comm/base/function_ref.h"
#include "comm/base/process_mark.h"

namespace paceline {
namespace {

// If a signal handler calls exit(), the interrupted thread may hold the lock or be inside a
// UseBeforeExit.
constexpr auto kLockPatience = std::chrono::seconds(1);

struct Entry {
  EndsAtExit* who;
  ProcessMark made_in;
};

struct Registry {
  std::mutex mutex;  // guards the next two
  std::vector<Entry> entries;
  bool is_prepared = false;
  std::atomic<bool> is_exiting{false};
  std::atomic<bool> has_ended{false};
  std::atomic<int> uses{0};
};

// Never destroyed: destructors of static objects may run later.
Registry& registry() {
  static Registry* const registry = new Registry;
  return *registry;
}

void end_entries(Registry& all) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, EndsAtExit::kMaxExitTime);
  std::vector<EndsAtExit*> own;
  for (auto entry = all.entries.rbegin(); entry != all.entries.rend(); ++entry)
    if (entry->made_in.is_of_this_process()) own.push_back(entry->who);
  for (EndsAtExit* const one : own) one->leave_at_exit();
  for (EndsAtExit* const one : own) one->stop_at_exit(deadline);
}

// Yields until `holds` is true, for at most kLockPatience. Returns the last answer. (A timed mutex
// would be enough for the lock, but the thread sanitizer of GCC 12 does not support
// pthread_mutex_clocklock.)
bool await(FunctionRef<bool()> holds) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, kLockPatience);
  while (!holds()) {
    if (deadline.passed(clock.now())) return false;
    ::sched_yield();
  }
  return true;
}

void handle_exit() {
  Registry& all = registry();
  if (all.is_exiting.exchange(true)) return;
  {
    std::unique_lock lock(all.mutex, std::defer_lock);
    if (await([&lock] { return lock.try_lock(); })) end_entries(all);
  }
  all.has_ended.store(true);
  (void)await([&all] { return all.uses.load() == 0; });
}

}  // namespace

Status exit_error() { return Status(Code::kCancelled, Scope::kProcess, "the process is exiting"); }

Status prepare_for_exit() {
  Registry& all = registry();
  if (all.is_exiting.load()) return exit_error();
  const std::lock_guard lock(all.mutex);
  if (all.is_prepared) return {};
  // OpenSSL registers its exit handler now, if it has not yet. (Without an option the call has no
  // effect.)
  all.is_prepared = ::OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr) == 1 &&
                    std::atexit(handle_exit) == 0;
  if (all.is_prepared) return {};
  return Status(Code::kExhausted, Scope::kProcess,
                "cannot register an exit handler: OPENSSL_init_crypto or atexit failed");
}

bool is_process_exiting() { return registry().is_exiting.load(); }

void let_exit_handler_run_first() { (void)std::atexit(handle_exit); }

void ExitEntry::enter(EndsAtExit& who) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.entries.push_back({&who, ProcessMark()});
  who_ = &who;
}

void ExitEntry::leave() {
  if (who_ == nullptr) return;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.entries, [this](const Entry& entry) { return entry.who == who_; });
  who_ = nullptr;
}

UseBeforeExit::UseBeforeExit() {
  registry().uses.fetch_add(1);
  is_in_time_ = !registry().has_ended.load();
}

UseBeforeExit::~UseBeforeExit() { registry().uses.fetch_sub(1); }

}  // namespace paceline
