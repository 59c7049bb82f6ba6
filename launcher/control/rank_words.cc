#include "launcher/control/rank_words.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "launcher/stacks/process_texts.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

constexpr int kMaxFrames = 12;  // of a thread
constexpr int kMaxThreads = 4;  // of a process
constexpr int kMaxPython = 30;  // lines

// Libraries in which a program waits, beside its own code.
bool is_of_system(std::string_view frame) {
  static constexpr std::string_view kLibraries[] = {"(libc.so",    "(libc-",    "(libpthread",
                                                    "(libstdc++",  "(libgcc_s", "(ld-linux",
                                                    "(linux-vdso", "([vdso"};
  return std::ranges::any_of(
      kLibraries, [frame](std::string_view library) { return frame.find(library) != frame.npos; });
}

// Lines of one thread, from "Thread 0x…" or "Current thread 0x…" to the next.
using Lines = std::vector<std::string>;

// The threads of a process, that which was interrupted first: it is the main thread, or runs its
// code. The faulthandler prints the main thread last.
std::vector<Lines> python_threads(const v1::Process& process) {
  std::vector<Lines> threads;
  std::size_t first = 0;
  for (const std::string& line : process.python()) {
    const bool is_current = line.starts_with("Current thread ");
    if (threads.empty() || is_current || line.starts_with("Thread ")) threads.emplace_back();
    threads.back().push_back(printable(line));
    if (is_current) first = threads.size() - 1;
  }
  if (first == 0 && !threads.empty() && !threads[0][0].starts_with("Current"))
    first = threads.size() - 1;
  if (first > 0) std::swap(threads[0], threads[first]);
  return threads;
}

// "File "train.py", line 3 in loop"
std::string python_frame(const v1::Process& process) {
  const std::vector<Lines> threads = python_threads(process);
  if (threads.empty()) return "";
  for (const std::string& line : threads[0]) {
    const std::size_t begin = line.find("File ");
    if (begin != line.npos) return line.substr(begin);
  }
  return "";
}

std::string native_frame(const v1::Process& process) {
  if (process.threads().empty()) return "";
  for (const std::string& frame : process.threads(0).frames())
    if (!is_of_system(frame)) return printable(frame);
  return "";
}

// The process that does the work of the rank: a shell waits for its child.
const v1::Process* acting(const v1::Rank& rank) {
  const v1::Process* found = nullptr;
  for (const v1::Process& process : rank.processes()) {
    if (!process.python().empty()) return &process;
    const bool waits_for_child = process.waits_for() == kWaitsForChild;
    if (found == nullptr || (!waits_for_child && found->waits_for() == kWaitsForChild))
      found = &process;
  }
  return found;
}

std::string_view state_of(const v1::Process& process) {
  return process.threads().empty() ? std::string_view() : process.threads(0).state();
}

std::string process_text(const v1::Process& process) {
  if (const std::string frame = python_frame(process); !frame.empty()) return "it is in " + frame;
  const std::string frame = native_frame(process);
  if (!process.waits_for().empty() && state_of(process) != "running")
    return "it waits: " + printable(process.waits_for()) + (frame.empty() ? "" : ", in " + frame);
  if (!frame.empty()) return "it is in " + frame;
  if (state_of(process) == "waiting for a disk") return "it waits in the kernel, as for a disk";
  return "";
}

std::string thread_text(const v1::Thread& thread) {
  std::string text = "  thread " + std::to_string(thread.id()) + " (" + printable(thread.name()) +
                     "), " + printable(thread.state());
  if (!thread.kernel_function().empty()) text += " in " + printable(thread.kernel_function());
  text += "\n";
  for (int i = 0; i < std::min(thread.frames_size(), kMaxFrames); ++i)
    text += "    " + printable(thread.frames(i)) + "\n";
  if (const int more = thread.frames_size() - kMaxFrames; more > 0)
    text += "    … " + std::to_string(more) + " more\n";
  return text;
}

std::string stack_text(const v1::Process& process) {
  std::string text =
      "  process " + std::to_string(process.pid()) + " (" + printable(process.program()) + ")";
  if (!process.waits_for().empty()) text += " waits: " + printable(process.waits_for());
  text += "\n";
  if (!process.failure().empty()) text += "    " + printable(process.failure()) + "\n";
  int lines = 0;
  for (const Lines& thread : python_threads(process))
    for (const std::string& line : thread)
      if (++lines <= kMaxPython) text += "    " + line + "\n";
  if (lines > kMaxPython) text += "    … " + std::to_string(lines - kMaxPython) + " more lines\n";
  for (int i = 0; i < std::min(process.threads_size(), kMaxThreads); ++i)
    text += thread_text(process.threads(i));
  if (const int more = process.threads_size() - kMaxThreads; more > 0)
    text += "  … " + std::to_string(more) + (more == 1 ? " more thread\n" : " more threads\n");
  return text;
}

}  // namespace

std::string member_text(const v1::Member& member) {
  return printable(member.role()) + " " + std::to_string(member.index());
}

std::string lasting_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

std::string operation_text(const v1::Operation& operation) {
  if (operation.name().empty()) return "";
  const std::string lasts = lasting_text(operation.seconds());
  if (operation.running()) return printable(operation.name()) + ", running for " + lasts;
  return printable(operation.name()) + (operation.failed() ? ", failed " : ", ended ") + lasts +
         " ago";
}

std::string stop_text(const v1::Rank& rank) {
  const v1::Process* const process = acting(rank);
  if (process == nullptr) return "";
  if (state_of(*process) == "stopped") return "it is stopped by a signal";
  if (state_of(*process) == "traced") return "a debugger has stopped it";
  return "";
}

std::string activity_text(const v1::Rank& rank, const v1::Host& host) {
  if (rank.state() == v1::Rank::STATE_ENDED) return "it has ended: " + printable(rank.end());
  if (rank.state() == v1::Rank::STATE_WAITING) return "it has not started";
  if (host.seconds_since_heard() >= kSilentSeconds)
    return "its host " + printable(host.name()) + " has been silent for " +
           lasting_text(host.seconds_since_heard());
  if (const std::string stopped = stop_text(rank); !stopped.empty()) return stopped;
  if (const v1::Process* const process = acting(rank))
    if (std::string text = process_text(*process); !text.empty()) return text;
  if (!rank.has_operation()) return "it has not joined the job";
  const std::string last = operation_text(rank.operation());
  return last.empty() ? "it has called no operation" : "its last operation is " + last;
}

std::string stacks_text(const v1::Rank& rank) {
  std::string text;
  for (const v1::Process& process : rank.processes()) text += stack_text(process);
  return text;
}

}  // namespace paceline::launcher
