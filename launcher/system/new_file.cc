#include "launcher/system/new_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string path;
  bool in_place = false;
};

// The file behind symbolic links, so that these stay. Links of /proc, to which /dev/stdout leads,
// stand for open descriptors. Too many links are an error of open().
Place place_of(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  if (const auto status = fs::status(path, error);
      fs::exists(status) && !fs::is_regular_file(status))
    return {.path = path, .in_place = true};
  fs::path target = path;
  for (int links = 0;; ++links) {
    const fs::path folder = fs::canonical(fs::absolute(target, error).parent_path(), error);
    if (error) return {.path = path};
    if ((folder.string() + "/").starts_with("/proc/")) return {.path = path, .in_place = true};
    if (!fs::is_symlink(target, error)) return {.path = links == 0 ? path : target.string()};
    if (links == kMostLinks) return {.path = path, .in_place = true};
    target = folder / fs::read_symlink(target, error);
    if (error) return {.path = path};
  }
}

// A killed process with the same id may have left its file behind: the new one replaces it.
UniqueFd open_beside(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL;
  UniqueFd fd(::open(path.c_str(), kFlags, 0644));
  if (!fd && errno == EEXIST && ::unlink(path.c_str()) == 0)
    fd.reset(::open(path.c_str(), kFlags, 0644));
  return fd;
}

}  // namespace

Result<std::unique_ptr<NewFile>> NewFile::make(const std::string& path) {
  const Place place = place_of(path);
  std::unique_ptr<NewFile> made(new NewFile(place.path, place.in_place));
  if (!made->fd_) return system_error("make '" + made->written_ + "'");
  return made;
}

// Other processes may write to a file in place, so all append.
NewFile::NewFile(const std::string& path, bool in_place)
    : path_(path),
      in_place_(in_place),
      written_(in_place ? path : path + "." + std::to_string(::getpid())),
      fd_(in_place ? UniqueFd(::open(written_.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND))
                   : open_beside(written_)) {}

NewFile::~NewFile() {
  if (fd_ && !in_place_) ::unlink(written_.c_str());
}

Status NewFile::keep(const std::string& text) {
  const bool is_there =
      write_all(fd_.get(), text) &&
      (in_place_ || (::fsync(fd_.get()) == 0 && ::rename(written_.c_str(), path_.c_str()) == 0));
  if (!is_there) return system_error("write '" + path_ + "'");
  fd_.reset();
  return {};
}

Result<UniqueFd> NewFile::put_in_place() {
  if (!in_place_ && ::rename(written_.c_str(), path_.c_str()) != 0)
    return system_error("write '" + path_ + "'");
  return std::move(fd_);
}

}  // namespace paceline::launcher
