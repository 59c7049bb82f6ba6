#include "launcher/tools/measure/probe/loop/shared_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "comm/base/unique_fd.h"

namespace paceline::probe {
namespace {

Status file_error(const std::string& what, const std::string& path) {
  return Status(Code::kUnavailable, Scope::kProcess,
                "cannot " + what + " the memory that the ranks share, '" + path +
                    "': " + std::strerror(errno));
}

}  // namespace

Result<SharedFile> SharedFile::open(const std::string& path, std::size_t bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return file_error("open", path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return file_error("check", path);
  // All of it is taken now: a write that finds the file system full would end the program.
  if (std::cmp_less(status.st_size, bytes)) {
    errno = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
    if (errno != 0) return file_error("enlarge", path);
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return file_error("map", path);
  return SharedFile({static_cast<std::byte*>(memory), bytes});
}

SharedFile::SharedFile(SharedFile&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}

SharedFile::~SharedFile() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

}  // namespace paceline::probe
