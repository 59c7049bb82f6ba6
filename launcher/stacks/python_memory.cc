#include "launcher/stacks/python_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "launcher/stacks/process_texts.h"
#include "launcher/stacks/process_view.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr const char* kMemoryName = "paceline-python";
constexpr std::size_t kNoteBytes = 16;
constexpr std::size_t kMaxPythonLines = 1024;
// The text is whole when it has not grown for this long, and no thread is in the handler.
constexpr Duration kPythonQuiet = std::chrono::milliseconds(30);
constexpr int kPythonPollMs = 5;

Status cannot_say(const std::string& why) { return {Code::kUnavailable, Scope::kOperation, why}; }

std::string process_folder(pid_t pid) { return "/proc/" + std::to_string(pid); }

// The offset at which the next text goes. Those who have inherited the descriptor share it.
std::optional<std::uint64_t> offset_of(pid_t pid, int descriptor) {
  return number_of_line(read_file(process_folder(pid) + "/fdinfo/" + std::to_string(descriptor)),
                        "pos");
}

// A handler blocks its signal in the thread in which it runs.
std::vector<pid_t> threads_that_block(pid_t pid, int signal) {
  std::vector<pid_t> blocking;
  for (const pid_t thread : threads_of(pid)) {
    const std::string status =
        read_file(process_folder(pid) + "/task/" + std::to_string(thread) + "/status");
    if (has_signal(status, "SigBlk", signal)) blocking.push_back(thread);
  }
  return blocking;
}

bool is_pending(pid_t pid, int signal) {
  const std::string status = read_file(process_folder(pid) + "/status");
  return has_signal(status, "ShdPnd", signal) || has_signal(status, "SigPnd", signal);
}

// Why the process may not be signalled; ok: it has registered, and is able to answer.
Status check_registered(const PythonNote& note) {
  const std::string folder = process_folder(note.pid);
  const std::string status = read_file(folder + "/status");
  struct stat executable {};
  const bool is_same =
      ::stat((folder + "/exe").c_str(), &executable) == 0 && executable.st_ino == note.executable;
  if (!is_same || !has_signal(status, "SigCgt", note.signal))
    return cannot_say("it runs another program than the Python that it was");
  const auto stat = parse_stat(read_file(folder + "/stat"));
  if (!stat) return cannot_say("it has ended");
  if (stat->state == 'T' || stat->state == 't')
    return cannot_say("Python cannot say where it is, because the process is stopped");
  if (threads_that_block(note.pid, note.signal).size() == threads_of(note.pid).size())
    return cannot_say("Python cannot say where it is, because the process blocks signal " +
                      std::to_string(note.signal));
  return {};
}

std::string read_text(const UniqueFd& memory, std::uint64_t begin, std::uint64_t end) {
  std::string text(std::min<std::uint64_t>(end - begin, kMaxPythonText), '\0');
  const ssize_t got = ::pread(memory.get(), text.data(), text.size(), static_cast<off_t>(begin));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

bool has_pending_question(const PythonNote& note) { return is_pending(note.pid, note.signal); }

Result<UniqueFd> make_python_memory() {
  UniqueFd memory(::memfd_create(kMemoryName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return system_error("make a file in memory");
  if (::ftruncate(memory.get(), kPythonMemoryBytes) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0 ||
      ::lseek(memory.get(), kPythonTextBegin, SEEK_SET) < 0)
    return system_error("seal a file in memory");
  return memory;
}

messages::HookMemory describe_python_memory(const UniqueFd& memory, int descriptor) {
  messages::HookMemory described;
  struct stat found {};
  if (::fstat(memory.get(), &found) != 0) return described;
  described.set_descriptor(descriptor);
  described.set_device(found.st_dev);
  described.set_inode(found.st_ino);
  return described;
}

std::string python_hook_value(const messages::HookMemory& memory) {
  return std::to_string(memory.descriptor()) + ":" + std::to_string(memory.device()) + ":" +
         std::to_string(memory.inode());
}

void make_room_for_text(const UniqueFd& memory) {
  const off_t at = ::lseek(memory.get(), 0, SEEK_CUR);
  if (at >= 0 && at < static_cast<off_t>(kPythonMemoryBytes / 2)) return;
  ::lseek(memory.get(), kPythonTextBegin, SEEK_SET);
}

std::vector<PythonNote> parse_notes(std::string_view bytes) {
  std::vector<PythonNote> notes;
  for (std::size_t at = 0; at + kNoteBytes <= bytes.size(); at += kNoteBytes) {
    std::int32_t pid = 0, signal = 0;
    PythonNote note;
    std::memcpy(&pid, bytes.data() + at, sizeof pid);
    std::memcpy(&signal, bytes.data() + at + 4, sizeof signal);
    std::memcpy(&note.executable, bytes.data() + at + 8, sizeof note.executable);
    if (pid <= 0 || signal < SIGRTMIN || signal > SIGRTMAX) continue;
    note.pid = pid;
    note.signal = signal;
    notes.push_back(note);
  }
  return notes;
}

std::vector<PythonNote> read_notes(const UniqueFd& memory) {
  std::string bytes(kPythonTextBegin, '\0');
  const ssize_t got = ::pread(memory.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return parse_notes(bytes);
}

// The name of the link is looked at first: a file on a network may hang even in fstat(2). What
// O_PATH has opened stays, whatever the process does with its descriptor meanwhile.
UniqueFd open_python_memory(pid_t process, const messages::HookMemory& memory) {
  const std::string path = process_folder(process) + "/fd/" + std::to_string(memory.descriptor());
  char link[64];
  const ssize_t length = ::readlink(path.c_str(), link, sizeof link);
  const std::string_view name(link, length > 0 ? static_cast<std::size_t>(length) : 0);
  if (!name.starts_with("/memfd:" + std::string(kMemoryName))) return UniqueFd();
  const UniqueFd held(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat found {};
  if (!held || ::fstat(held.get(), &found) != 0 || found.st_dev != memory.device() ||
      found.st_ino != memory.inode())
    return UniqueFd();
  const std::string own = "/proc/self/fd/" + std::to_string(held.get());
  return UniqueFd(::open(own.c_str(), O_RDONLY | O_CLOEXEC));
}

Result<std::vector<std::string>> ask_python(const PythonNote& note, const UniqueFd& pidfd,
                                            const messages::HookMemory& memory, const Clock& clock,
                                            Deadline deadline) {
  if (const Status status = check_registered(note); !status.ok()) return status;
  const std::vector<pid_t> blocking = threads_that_block(note.pid, note.signal);
  const UniqueFd opened = open_python_memory(note.pid, memory);
  const auto begin = offset_of(note.pid, memory.descriptor());
  if (!opened || !begin)
    return cannot_say("Python cannot say where it is, because the program has closed descriptor " +
                      std::to_string(memory.descriptor()) + ", which `paceline run` gave to it");
  // Once more, because a program that is executed meanwhile would be killed by the signal.
  const std::string status = read_file(process_folder(note.pid) + "/status");
  if (!has_signal(status, "SigCgt", note.signal) || !send_signal(pidfd, note.signal))
    return cannot_say("it has ended, or executes another program");
  std::uint64_t end = *begin;
  for (TimePoint grown = clock.now();;) {
    const TimePoint now = clock.now();
    const std::uint64_t at = offset_of(note.pid, memory.descriptor()).value_or(end);
    if (std::exchange(end, at) != at) grown = now;
    const bool is_quiet = end > *begin && now - grown >= kPythonQuiet &&
                          threads_that_block(note.pid, note.signal) == blocking &&
                          !is_pending(note.pid, note.signal);
    if (is_quiet || deadline.passed(now)) break;
    pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ended, 1, kPythonPollMs) == 1) break;
  }
  if (end > *begin) return python_lines(read_text(opened, *begin, end));
  return cannot_say("Python did not say in time where it is");
}

std::vector<std::string> python_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < kMaxPythonLines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(printable(text.substr(0, std::min(end, kMaxFrameText))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace paceline::launcher
