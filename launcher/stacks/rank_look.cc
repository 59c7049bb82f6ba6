#include "launcher/stacks/rank_look.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <signal.h>

#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "launcher/stacks/bounded_child.h"
#include "launcher/stacks/process_view.h"
#include "launcher/stacks/python_memory.h"
#include "launcher/system/process_identity.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

// Of the whole answer, which is one message.
constexpr std::size_t kMaxAnswerBytes = std::size_t{2} << 20;
// Each level of children answers so much earlier than it is waited for.
constexpr Duration kToAnswer = std::chrono::milliseconds(150);
constexpr Duration kPythonPatience = std::chrono::milliseconds(500);
constexpr Duration kStopPatience = std::chrono::milliseconds(200);
// Stacks that are known so far are sent at most so often.
constexpr Duration kSendPeriod = std::chrono::milliseconds(100);

struct ProcessLook {
  SeenProcess process;
  std::optional<PythonNote> note;    // none: it has no hook
  messages::HookMemory memory;       // without an inode: the rank has none
  bool is_question_pending = false;  // to any process of the rank
};

void add_failure(v1::Process& process, const std::string& why) {
  const std::string before = process.failure();
  process.set_failure(before.empty() ? printable(why) : before + "; " + printable(why));
}

// A pidfd stays with its process. Empty text: it was opened.
std::string open_seen(const SeenProcess& process, UniqueFd& pidfd) {
  pidfd = open_pidfd(process.pid);
  const int error = errno;
  if (!pidfd && error != ESRCH)
    return std::string("it cannot be watched, so it is left alone: pidfd_open: ") +
           std::strerror(error);
  const bool is_same = pidfd && identify(process.pid) == process.identity();
  return is_same ? "" : "it has ended";
}

std::string tracer_words(pid_t process) {
  const auto tracer =
      number_of_line(read_file("/proc/" + std::to_string(process) + "/status"), "TracerPid");
  if (!tracer || *tracer == 0) return "";
  const auto stat = parse_stat(read_file("/proc/" + std::to_string(*tracer) + "/stat"));
  return "a debugger traces it: process " + std::to_string(*tracer) +
         (stat ? " (" + stat->name + ")" : "");
}

void add_native(const StacksModule& module, pid_t pid, const Clock& clock, v1::Process& view,
                BoundedChild::Send send) {
  if (const std::string tracer = tracer_words(pid); !tracer.empty())
    return add_failure(view, tracer);
  std::vector<pid_t> threads;
  for (const v1::Thread& thread : view.threads()) threads.push_back(thread.id());
  std::string failure;
  TimePoint sent = clock.now();
  int next = 0;
  const auto got = [&](const NativeThread& native) {
    v1::Thread& thread = *view.mutable_threads(next++);
    for (const std::string& frame : native.frames) thread.add_frames(printable(frame));
    if (failure.empty() && !native.failure.empty())
      failure = "thread " + std::to_string(native.id) + ": " + native.failure;
    if (clock.now() - sent < kSendPeriod) return;
    send(view.SerializeAsString());
    sent = clock.now();
  };
  const Status taken =
      module.take({.process = pid, .threads = threads, .patience = kStopPatience}, got);
  if (!taken.ok()) failure = taken.text();
  if (!failure.empty()) add_failure(view, failure);
}

void add_python(const ProcessLook& look, const UniqueFd& pidfd, const Clock& clock,
                Deadline deadline, v1::Process& view) {
  if (look.is_question_pending)
    return add_failure(view,
                       "Python cannot say where it is, because a process of the rank has not "
                       "answered an earlier question yet");
  const Duration patience = std::min<Duration>(deadline.left(clock.now()) / 2, kPythonPatience);
  const auto lines =
      ask_python(*look.note, pidfd, look.memory, clock, Deadline::after(clock, patience));
  if (!lines.ok()) return add_failure(view, lines.status().text());
  for (const std::string& line : *lines) view.add_python(line);
}

std::string why_no_python(const messages::HookMemory& memory) {
  if (memory.inode() == 0) return "the job has no Python hooks (--no-python-hooks)";
  return "Python cannot say where it is: it was started without the hook, or the program has "
         "closed descriptor " +
         std::to_string(memory.descriptor());
}

// In the child of a process. What does not touch the process comes first, and what may hang last.
void look_at_process(const ProcessLook& look, const Result<const StacksModule*>& native,
                     const Clock& clock, Deadline deadline, BoundedChild::Send send) {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::signal(SIGCHLD, SIG_DFL);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  UniqueFd pidfd;
  const std::string unwatched = open_seen(look.process, pidfd);
  v1::Process view;
  if (!unwatched.empty()) {
    send(failed_look(unwatched, look.process.pid));
    return;
  }
  view = view_process(look.process);
  send(view.SerializeAsString());
  if (look.note)
    add_python(look, pidfd, clock, deadline, view);
  else if (view.program().starts_with("python"))
    add_failure(view, why_no_python(look.memory));
  send(view.SerializeAsString());
  native.ok() ? add_native(**native, look.process.pid, clock, view, send)
              : add_failure(view, native.status().text());
  send(view.SerializeAsString());
}

std::string look_within(const ProcessLook& look, const Result<const StacksModule*>& native,
                        const Clock& clock, Deadline deadline) {
  std::vector<std::unique_ptr<BoundedChild>> child;
  const Duration share = deadline.left(clock.now());
  auto started = BoundedChild::start(
      [&](BoundedChild::Send send) { look_at_process(look, native, clock, deadline, send); });
  if (!started.ok()) return failed_look(started.status().text(), look.process.pid);
  child.push_back(*std::move(started));
  BoundedChild::wait_for(child, clock, deadline);
  v1::Process view;
  const bool is_known = child[0]->said() && view.ParseFromString(*child[0]->said());
  if (is_known && child[0]->is_done()) return *child[0]->said();
  view.set_pid(look.process.pid);
  view.set_program(printable(look.process.stat.name));
  add_failure(view, "the rest is not known within " + seconds_text(share) +
                        ": its program and libraries are large, or it hangs in the kernel");
  return view.SerializeAsString();
}

// In the child of a rank.
messages::RankStacks look_at_rank(const messages::LookAtRank& rank,
                                  const Result<const StacksModule*>& native, const Clock& clock,
                                  Deadline deadline) {
  messages::RankStacks stacks;
  stacks.set_rank(rank.rank());
  const std::vector<SeenProcess> all = all_seen_processes();
  const auto main = static_cast<pid_t>(rank.pid());
  const bool runs = std::ranges::any_of(all, [&](const SeenProcess& one) {
    return one.pid == main && one.stat.start_time == rank.start_time();
  });
  if (!runs) {
    stacks.add_processes(failed_look("it has ended", main));
    return stacks;
  }
  // The first process that still has the memory.
  std::vector<PythonNote> notes;
  for (const SeenProcess& one : choose_processes(all, main, {})) {
    if (!rank.has_memory()) break;
    const UniqueFd memory = open_python_memory(one.pid, rank.memory());
    if (memory) notes = read_notes(memory);
    if (memory) break;
  }
  std::vector<pid_t> preferred;
  for (const PythonNote& note : notes) preferred.push_back(note.pid);
  const std::vector<SeenProcess> chosen = choose_processes(all, main, preferred);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    ProcessLook look{.process = chosen[i], .note = {}, .memory = rank.memory()};
    const auto note = std::ranges::find(notes, chosen[i].pid, &PythonNote::pid);
    if (note != notes.end()) look.note = *note;
    look.is_question_pending = std::ranges::any_of(notes, has_pending_question);
    // The first process matters most: it has half of the time.
    const auto left = static_cast<Duration::rep>(chosen.size() - i);
    const auto parts = i == 0 ? std::min<Duration::rep>(left, 2) : left;
    stacks.add_processes(look_within(look, native, clock,
                                     Deadline::after(clock, deadline.left(clock.now()) / parts)));
  }
  return stacks;
}

void take_answer(const BoundedChild& child, const messages::LookAtRank& rank, std::size_t max_bytes,
                 messages::RankStacks& into) {
  const bool is_known = child.said() && into.ParseFromString(*child.said());
  if (!is_known) {
    into.Clear();
    into.add_processes(failed_look("it was not looked at in time", static_cast<pid_t>(rank.pid())));
  }
  into.set_rank(rank.rank());
  std::size_t bytes = 0;
  for (std::string& process : *into.mutable_processes()) {
    bytes += process.size();
    if (bytes > max_bytes) process = failed_look("left out, because the answer is too long");
  }
}

}  // namespace

messages::StacksTaken look_at_ranks(const messages::LookAtRanks& request,
                                    const Result<const StacksModule*>& native, const Clock& clock) {
  const Duration patience(request.patience_ns());
  const Deadline deadline = Deadline::after(clock, patience - kToAnswer);
  const Deadline of_ranks = Deadline::after(clock, patience - 2 * kToAnswer);
  std::vector<std::unique_ptr<BoundedChild>> children;
  std::vector<std::string> failures;  // of those without a child
  for (const messages::LookAtRank& rank : request.ranks()) {
    children.emplace_back();
    failures.emplace_back("it does not run");
    if (rank.pid() == 0) continue;
    auto started = BoundedChild::start([&](BoundedChild::Send send) {
      send(look_at_rank(rank, native, clock, of_ranks).SerializeAsString());
    });
    if (started.ok())
      children.back() = *std::move(started);
    else
      failures.back() = started.status().text();
  }
  BoundedChild::wait_for(children, clock, deadline);
  messages::StacksTaken taken;
  taken.set_number(request.number());
  const std::size_t share = kMaxAnswerBytes / std::max<std::size_t>(1, children.size());
  for (int i = 0; i < request.ranks_size(); ++i) {
    const messages::LookAtRank& rank = request.ranks(i);
    messages::RankStacks& stacks = *taken.add_ranks();
    const auto at = static_cast<std::size_t>(i);
    if (children[at] != nullptr) {
      take_answer(*children[at], rank, share, stacks);
      continue;
    }
    stacks.set_rank(rank.rank());
    stacks.add_processes(failed_look(failures[at], static_cast<pid_t>(rank.pid())));
  }
  return taken;
}

std::string failed_look(const std::string& why, pid_t pid) {
  v1::Process process;
  process.set_pid(pid);
  process.set_failure(printable(why));
  return process.SerializeAsString();
}

messages::StacksTaken failed_stacks(const messages::LookAtRanks& request, const std::string& why) {
  messages::StacksTaken taken;
  taken.set_number(request.number());
  for (const messages::LookAtRank& rank : request.ranks()) {
    messages::RankStacks& stacks = *taken.add_ranks();
    stacks.set_rank(rank.rank());
    stacks.add_processes(failed_look(why, static_cast<pid_t>(rank.pid())));
  }
  return taken;
}

}  // namespace paceline::launcher
