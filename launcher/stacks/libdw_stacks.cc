// The module of native_stacks.h. Threads are seized (PTRACE_SEIZE), not attached: no SIGSTOP is on
// its way that could stop the program for good if this process is killed, and a stopped program
// stays stopped.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/stacks/native_stacks.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxFrames = 64;
constexpr std::size_t kMaxText = 256;

Status unavailable(const std::string& why) { return {Code::kUnavailable, Scope::kOperation, why}; }

std::string words_of_libdw() {
  const char* const words = dwfl_errmsg(-1);
  return words != nullptr ? words : "unknown error";
}

Status not_permitted(int error) {
  return unavailable(
      std::string("ptrace is not permitted: ") + std::strerror(error) +
      "; allow the system call in the profile of the container, or set "
      "/proc/sys/kernel/yama/ptrace_scope to 0 or 1. A program that has changed its user or "
      "privileges cannot be traced");
}

// A thread that is stopped while this lives.
class StoppedThread {
 public:
  explicit StoppedThread(pid_t thread) : thread_(thread) {
    if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
      error_ = errno;
      return;
    }
    is_seized_ = true;
    ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  }
  // A signal that has stopped it goes on to it. A thread that was killed meanwhile must be reaped:
  // else its parent cannot reap it as long as this process lives.
  ~StoppedThread() {
    if (!is_seized_) return;
    if (!is_stopped_) look();
    if (is_stopped_ &&
        ::ptrace(PTRACE_DETACH, thread_, nullptr, static_cast<unsigned long>(signal_)) == 0)
      return;
    ::waitpid(thread_, nullptr, __WALL | WNOHANG);
  }
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  /// errno of the attempt to seize it; 0: it was seized.
  int error() const { return error_; }
  bool is_stopped() const { return is_stopped_; }

  /// False: it has ended, or hangs in the kernel.
  bool wait(const Clock& clock, Deadline deadline) {
    for (;;) {
      if (look()) return is_stopped_;
      const Duration left = deadline.left(clock.now());
      if (left == Duration::zero()) return false;
      sigset_t child;
      ::sigemptyset(&child);
      ::sigaddset(&child, SIGCHLD);
      // Stops of several threads may be one signal, so there is another look soon.
      const auto soon = std::min<Duration>(left, std::chrono::milliseconds(5));
      const timespec patience{.tv_sec = 0, .tv_nsec = soon.count()};
      ::sigtimedwait(&child, nullptr, &patience);
    }
  }

 private:
  // False: its state is the same as before.
  bool look() {
    int status = 0;
    const pid_t got = ::waitpid(thread_, &status, __WALL | WNOHANG);
    if (got == thread_) note(status);
    return got == thread_ || (got < 0 && errno != EINTR);
  }

  // A stop by PTRACE_INTERRUPT, and that of a program that is stopped anyway, has an event. Without
  // one, a signal is about to be delivered.
  void note(int status) {
    is_stopped_ = WIFSTOPPED(status);
    if (is_stopped_ && (status >> 16) == 0) signal_ = WSTOPSIG(status);
  }

  const pid_t thread_;
  int error_ = 0;
  bool is_seized_ = false;
  bool is_stopped_ = false;
  int signal_ = 0;
};

struct Frame {
  Dwarf_Addr address = 0;
  bool is_call = false;  // the address is behind a call
};

int take_frame(Dwfl_Frame* state, void* into) {
  auto& frames = *static_cast<std::vector<Frame>*>(into);
  Dwarf_Addr address = 0;
  bool is_activation = false;
  if (!dwfl_frame_pc(state, &address, &is_activation)) return DWARF_CB_ABORT;
  frames.push_back({.address = address, .is_call = !is_activation});
  return frames.size() < kMaxFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
}

std::string file_name(const char* path) {
  const std::string text = path != nullptr ? path : "";
  return text.substr(text.rfind('/') + 1);
}

// "write@@GLIBC_2.2.5" is write.
std::string plain_name(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  const std::string name = symbol;
  return plain ? plain.get() : name.substr(0, name.find('@'));
}

std::string hexadecimal_text(Dwarf_Addr address) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(address));
  return text.data();
}

// "train(int) at train.cc:31 (trainer)"
std::string text_of(Dwfl* process, const Frame& frame) {
  const Dwarf_Addr address = frame.address - (frame.is_call ? 1 : 0);
  Dwfl_Module* const module = dwfl_addrmodule(process, address);
  if (module == nullptr) return hexadecimal_text(frame.address);
  const char* const symbol = dwfl_module_addrname(module, address);
  std::string text = (symbol != nullptr ? plain_name(symbol) : hexadecimal_text(frame.address))
                         .substr(0, kMaxText);
  int line = 0;
  Dwfl_Line* const place = dwfl_module_getsrc(module, address);
  const char* const source =
      place != nullptr ? dwfl_lineinfo(place, nullptr, &line, nullptr, nullptr, nullptr) : nullptr;
  if (source != nullptr) text += " at " + file_name(source) + ":" + std::to_string(line);
  const char* const name =
      dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  return text + " (" + file_name(name) + ")";
}

struct TakenThread {
  NativeThread thread;
  std::vector<Frame> frames;
};

// While the thread is stopped, nothing but its frames is read.
TakenThread take_thread(Dwfl* process, StoppedThread& stopped, pid_t id, const Clock& clock,
                        Duration patience) {
  TakenThread taken{.thread = {.id = id, .frames = {}, .failure = {}}, .frames = {}};
  std::string& failure = taken.thread.failure;
  if (stopped.error() == ESRCH)
    failure = "it has ended";
  else if (stopped.error() != 0)
    failure = not_permitted(stopped.error()).text();
  else if (!stopped.wait(clock, Deadline::after(clock, patience)))
    failure = "it does not stop, so it hangs in the kernel or has ended";
  else
    dwfl_getthread_frames(process, id, take_frame, &taken.frames);
  if (failure.empty() && taken.frames.empty())
    failure = "its stack cannot be unwound: " + words_of_libdw();
  return taken;
}

// Opens the files of the program and its libraries, so that no thread is stopped meanwhile.
int open_module(Dwfl_Module* module, void**, const char*, Dwarf_Addr, void*) {
  GElf_Addr bias = 0;
  dwfl_module_getelf(module, &bias);
  dwfl_module_eh_cfi(module, &bias);
  return DWARF_CB_OK;
}

Status take(const NativeRequest& request, FunctionRef<void(const NativeThread&)> got) {
  ::unsetenv("DEBUGINFOD_URLS");  // no downloads
  const Dwfl_Callbacks callbacks{.find_elf = dwfl_linux_proc_find_elf,
                                 .find_debuginfo = dwfl_standard_find_debuginfo,
                                 .section_address = nullptr,
                                 .debuginfo_path = nullptr};
  const std::unique_ptr<Dwfl, void (*)(Dwfl*)> process(dwfl_begin(&callbacks), dwfl_end);
  if (!process) return unavailable("libdw cannot begin: " + words_of_libdw());
  const int error = dwfl_linux_proc_report(process.get(), request.process);
  if (error == EPERM || error == EACCES) return not_permitted(error);
  if (error == ENOENT || error == ESRCH) return unavailable("it has ended");
  if (error != 0)
    return unavailable(std::string("its memory map cannot be read: ") +
                       (error > 0 ? std::strerror(error) : words_of_libdw()));
  dwfl_report_end(process.get(), nullptr, nullptr);
  if (dwfl_linux_proc_attach(process.get(), request.process, true) != 0)
    return unavailable("libdw cannot unwind it: " + words_of_libdw());
  dwfl_getmodules(process.get(), open_module, nullptr, 0);
  const SystemClock clock;
  std::vector<std::unique_ptr<StoppedThread>> not_stopped;
  Duration patience = request.patience;
  std::vector<TakenThread> taken;
  for (const pid_t id : request.threads) {
    auto stopped = std::make_unique<StoppedThread>(id);
    taken.push_back(take_thread(process.get(), *stopped, id, clock, patience));
    if (stopped->is_stopped() || stopped->error() != 0) continue;
    patience /= 4;  // of several threads that wait for one disk, one costs the time
    not_stopped.push_back(std::move(stopped));
  }
  not_stopped.clear();
  for (TakenThread& one : taken) {
    for (const Frame& frame : one.frames)
      one.thread.frames.push_back(text_of(process.get(), frame));
    got(one.thread);
  }
  return Status();
}

}  // namespace

// Named by kStacksSymbol, for dlsym(). NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("default")))
const StacksModule paceline_stacks_module{.take = take};
// NOLINTEND(readability-identifier-naming)

}  // namespace paceline::launcher
