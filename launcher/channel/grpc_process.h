// Keeps gRPC from disturbing the process that loads it. Only modules that use gRPC include this.
#pragma once

#include <grpc/support/log.h>
#include <signal.h>

namespace paceline::launcher {

/// While it exists, threads that gRPC starts block all signals: these are for the process's own
/// threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

/// gRPC logs failed handshakes of unknown peers. The user needs no such lines.
inline void silence_grpc() {
  gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace paceline::launcher
