#include "comm/shared_segment.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/system_error.h"

namespace paceline {
namespace {

Status cannot(const char* what, const std::string& path, int error) {
  const bool full = error == ENOSPC || error == ENOMEM || error == EDQUOT || error == EFBIG;
  return Status(full ? Code::kExhausted : Code::kUnavailable, Scope::kProcess,
                std::string("cannot ") + what + " " + path + ": " + error_text(error));
}

struct flock lock_of(int place, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = place;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<SharedSegment> SharedSegment::create(const std::string& path, std::size_t bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return cannot("make", path, errno);
  // Unlike ftruncate() this takes the memory now.
  const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (error == 0) return map(std::move(fd), path, bytes);
  ::unlink(path.c_str());
  return cannot("reserve memory for", path, error);
}

Result<SharedSegment> SharedSegment::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) return cannot("open", path, errno);
  auto segment = map(std::move(fd), path, static_cast<std::size_t>(found.st_size));
  if (segment.ok()) segment->path_.clear();  // whose it is removes it
  return segment;
}

Result<SharedSegment> SharedSegment::create_nameless(std::size_t bytes) {
  const std::string path = "unnamed shared memory";
  UniqueFd fd(::memfd_create("paceline-segment", MFD_CLOEXEC));
  if (!fd) return cannot("make", path, errno);
  if (const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes)); error != 0)
    return cannot("reserve", path, error);
  return map(std::move(fd), "", bytes);
}

Result<SharedSegment> SharedSegment::map(UniqueFd fd, std::string path, std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    if (!path.empty()) ::unlink(path.c_str());
    return cannot("map", path, error);
  }
  return SharedSegment(std::move(fd), std::move(path),
                       std::span(static_cast<std::byte*>(memory), bytes));
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::exchange(other.path_, {})),
      memory_(std::exchange(other.memory_, {})) {}

SharedSegment::~SharedSegment() {
  remove_name();
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

void SharedSegment::remove_name() {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

Status SharedSegment::take_place(int place) {
  struct flock lock = lock_of(place, F_WRLCK);
  if (::fcntl(fd_.get(), F_SETLK, &lock) == 0) return {};
  return Status(
      Code::kDenied, Scope::kProcess,
      "cannot lock place " + std::to_string(place) + " of the shared memory: " + error_text(errno));
}

bool SharedSegment::is_taken_by_another(int place) const {
  struct flock lock = lock_of(place, F_WRLCK);
  return ::fcntl(fd_.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace paceline
