#include "launcher/system/signal_source.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {

Result<std::unique_ptr<SignalSource>> SignalSource::watch(EventLoop& loop,
                                                          const std::vector<int>& signals,
                                                          std::function<void(int)> handler) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
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
