#include "telemetry/sealed_memory.h"

#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/system_error.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

using Head = std::array<std::uint64_t, 2>;

Head head_of(const SealedLayout& layout) { return {layout.magic, layout.bytes}; }

Status memory_error(const SealedLayout& layout, const char* what) {
  return Status(Code::kUnavailable, Scope::kProcess,
                std::string(layout.name) + ": " + what + ": " + error_text(errno));
}

Status refused(const SealedLayout& layout, const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kProcess, std::string(layout.name) + ": " + why);
}

}  // namespace

Result<UniqueFd> create_sealed_memory(const SealedLayout& layout) {
  UniqueFd fd(::memfd_create("paceline", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return memory_error(layout, "memfd_create");
  if (::ftruncate(fd.get(), static_cast<off_t>(layout.bytes)) != 0)
    return memory_error(layout, "ftruncate");
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return memory_error(layout, "F_ADD_SEALS");
  const Head head = head_of(layout);
  if (::pwrite(fd.get(), head.data(), sizeof head, 0) != sizeof head)
    return memory_error(layout, "pwrite");
  return fd;
}

Result<void*> map_sealed_memory(int fd, const SealedLayout& layout) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return memory_error(layout, "fstat");
  if (status.st_size != static_cast<off_t>(layout.bytes))
    return refused(layout, "descriptor " + std::to_string(fd) + " is not its memory");
  void* memory = ::mmap(nullptr, layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return memory_error(layout, "mmap");
  if (*static_cast<const Head*>(memory) == head_of(layout)) return memory;
  ::munmap(memory, layout.bytes);
  return refused(layout, "the memory has the layout of another version of Paceline");
}

}  // namespace paceline
