// The files in a job's entry by which clients find its control service.
//
//   control               a Unix socket
//   control.address       "10.0.0.1:7000", and these two, if the job has --control:
//   control.pem           the certificate of that address
//   control.token         the token for it
//
// All belong to the job's user alone. They go with the entry.
#pragma once

#include <optional>
#include <string>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "comm/socket.h"

namespace paceline::launcher {

/// The folder of a job's entry, open: a name in it is short enough for a Unix socket.
class ControlFolder {
 public:
  static Result<ControlFolder> open(const std::string& path);

  bool has_socket() const;
  /// Valid while this exists.
  SocketAddress socket() const;

  struct Tcp {
    std::string address;
    std::string certificate;
    std::string token;
  };
  Status write(const Tcp& tcp) const;

 private:
  explicit ControlFolder(UniqueFd fd) : fd_(std::move(fd)) {}
  std::string path_of(const char* file) const;
  Status write(const char* file, const std::string& text) const;

  UniqueFd fd_;
};

/// Where a client on another host, or in another language, connects: lines for people.
std::string connect_text(const std::string& folder);

}  // namespace paceline::launcher
