// Memory that processes of one host share: a file of /dev/shm that one makes and the others open.
//
// All of it is reserved when it is made, so that no write finds the file system full (SIGBUS). Its
// name is only for the opening: once everybody has it, remove_name() leaves nothing that a crash
// could leave behind.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline {

/// A resource. The memory is mapped until it is destroyed, and zero when it is made.
class SharedSegment {
 public:
  /// Code::kExhausted where there is no room for `bytes`, Code::kUnavailable where nothing can be
  /// made at `path` at all. Only this user may open it.
  static Result<SharedSegment> create(const std::string& path, std::size_t bytes);
  /// What another process has made. Code::kUnavailable where it is not to be seen from here.
  static Result<SharedSegment> open(const std::string& path);
  /// Of one process only, for tests that run ranks as its threads; has no name.
  static Result<SharedSegment> create_nameless(std::size_t bytes);

  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&&) = delete;
  ~SharedSegment();

  std::span<std::byte> memory() const { return memory_; }

  /// Nobody can open it any more. Does nothing when it has no name.
  void remove_name();

  /// Lets go of the descriptor; the memory stays. Nobody may take a place, or ask for one, from
  /// here after that.
  void close_file() { fd_.reset(); }

  /// Takes `place` (below kMaxPlaces) until this process ends, however it ends. A fork does not
  /// inherit it. Code::kDenied where another process has it.
  Status take_place(int place);
  /// Whether some process has it. This process's own places are not seen: fcntl(2), F_GETLK.
  bool is_taken_by_another(int place) const;
  static constexpr int kMaxPlaces = 4096;

 private:
  SharedSegment(UniqueFd fd, std::string path, std::span<std::byte> memory)
      : fd_(std::move(fd)), path_(std::move(path)), memory_(memory) {}
  static Result<SharedSegment> map(UniqueFd fd, std::string path, std::size_t bytes);

  UniqueFd fd_;
  std::string path_;
  std::span<std::byte> memory_;
};

}  // namespace paceline
