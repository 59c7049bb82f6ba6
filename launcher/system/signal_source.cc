#include "launcher/system/signal_source.h"

#include <cstring>

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {

namespace {

sigset_t set_of(const std::vector<int>& signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  return set;
}

}  // namespace

void block_signals(const std::vector<int>& signals) {
  const sigset_t set = set_of(signals);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

std::vector<int> heeded(const std::vector<int>& signals) {
  std::vector<int> heeded;
  for (const int signal : signals) {
    struct sigaction inherited {};
    ::sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) heeded.push_back(signal);
  }
  return heeded;
}

std::vector<int> ending_signals() {
  std::vector<int> signals = heeded({SIGHUP});
  signals.insert(signals.begin(), {SIGINT, SIGTERM});
  return signals;
}

std::vector<int> warning_signals() {
  std::vector<int> signals{SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) signals.push_back(signal);
  return signals;
}

std::vector<int> signals_from_outside() {
  std::vector<int> signals = warning_signals();
  signals.insert(signals.end(), {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGIO, SIGPWR});
  return signals;
}

void outlive_file_limit() { ::signal(SIGXFSZ, SIG_IGN); }

void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  const sigset_t set = set_of({signal});
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::_exit(128 + signal);  // where the signal does not end a process
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

Result<std::unique_ptr<SignalSource>> SignalSource::watch(EventLoop& loop,
                                                          const std::vector<int>& signals,
                                                          std::function<void(int)> handler) {
  block_signals(signals);
  const sigset_t set = set_of(signals);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return system_error("watch signals");
  const int source = fd.get();
  loop.when_readable(source, [source, handler = std::move(handler)] {
    signalfd_siginfo info{};
    while (::read(source, &info, sizeof info) == sizeof info)
      handler(static_cast<int>(info.ssi_signo));
  });
  return std::unique_ptr<SignalSource>(new SignalSource(loop, std::move(fd)));
}

}  // namespace paceline::launcher
