#include "comm/arena_view.h"

#include <cerrno>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

#include "comm/base/system_error.h"

namespace paceline {
namespace {

// What is mapped already, by the file's device and inode.
struct Mapped {
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, std::weak_ptr<const ArenaView>> views;
};

Mapped& mapped() {
  static Mapped* const mapped = new Mapped;  // outlives all that may ask
  return *mapped;
}

Status cannot_map() {
  return Status(Code::kUnavailable, Scope::kProcess,
                std::string("cannot map another process's buffers: ") + error_text(errno));
}

}  // namespace

Result<std::shared_ptr<const ArenaView>> ArenaView::open(UniqueFd file) {
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return cannot_map();
  const std::lock_guard lock(mapped().mutex);
  std::erase_if(mapped().views, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<const ArenaView>& known = mapped().views[{found.st_dev, found.st_ino}];
  if (auto view = known.lock(); view != nullptr) return view;
  const auto length = static_cast<std::size_t>(found.st_size);
  void* const memory =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (memory == MAP_FAILED) return cannot_map();
  (void)::madvise(memory, length, MADV_DONTFORK);
  (void)::madvise(memory, length, MADV_DONTDUMP);  // its owner's dump has it
  (void)::madvise(memory, length, MADV_HUGEPAGE);
  std::shared_ptr<const ArenaView> view(new ArenaView(static_cast<std::byte*>(memory), length));
  known = view;
  return view;
}

ArenaView::~ArenaView() { ::munmap(begin_, length_); }

}  // namespace paceline
