// The key of a job: whoever holds it belongs to the job. It reaches ranks by an inherited
// descriptor or a file, never by an argument, an environment variable or a log.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <paceline/status.h>

#include "comm/base/environment.h"
#include "comm/base/unique_fd.h"
#include "comm/bytes.h"

namespace paceline {

/// HMAC-SHA256 (RFC 2104, FIPS 180-4).
using Mac = std::array<std::byte, 32>;

/// Move-only; wiped when it is destroyed.
class JobKey {
 public:
  static constexpr std::size_t kBytes = 32;

  static Result<JobKey> generate();
  /// 64 hexadecimal digits, as to_memfd() writes them, from the descriptor's beginning. The
  /// descriptor's position does not matter and does not change.
  static Result<JobKey> from_descriptor(int fd);
  /// Reads the same digits from a file that belongs to this process's user and that no other user
  /// may read.
  static Result<JobKey> from_file(const std::string& path);
  /// As copy_to() writes it.
  static JobKey from_bytes(std::span<const std::byte, kBytes> bytes);
  /// From PACELINE_JOB_KEY_FD, else from PACELINE_JOB_KEY_FILE; null if neither is set. The program
  /// that started this one may have closed the descriptor, or opened another file there. So the
  /// descriptor is read only if it has the seals of to_memfd().
  static Result<std::unique_ptr<JobKey>> from_environment(const Environment& environment);
  /// From now on, programs that this process executes do not inherit PACELINE_JOB_KEY_FD. Does not
  /// touch the descriptor if it is not the key's.
  static void keep_from_children(const Environment& environment);

  JobKey(JobKey&& other) noexcept;
  JobKey& operator=(JobKey&& other) noexcept;
  ~JobKey();

  /// Sealed anonymous memory with the key. It is close-on-exec until the caller clears the flag.
  /// from_file() can read it as /proc/PID/fd/N of its owner.
  Result<UniqueFd> to_memfd() const;

  JobKey copy() const;
  /// The key itself, for those who hand it on in a way of their own.
  void copy_to(std::span<std::byte, kBytes> bytes) const;

  /// A proof over `text`, bound to `purpose`. Once the exit handlers of the process run
  /// (comm/exit.h), the proof is all zeros and verify() fails.
  Mac prove(std::string_view purpose, ByteView text) const;
  /// Compares in constant time.
  bool verify(std::string_view purpose, ByteView text, ByteView mac) const;

 private:
  JobKey() = default;
  Mac hmac(std::string_view purpose, ByteView text) const;

  std::array<unsigned char, kBytes> key_{};
};

}  // namespace paceline
