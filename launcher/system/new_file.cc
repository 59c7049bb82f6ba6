#include "launcher/system/new_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

bool is_other_than_a_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

}  // namespace

Result<std::unique_ptr<NewFile>> NewFile::make(const std::string& path) {
  std::unique_ptr<NewFile> made(new NewFile(path, is_other_than_a_file(path)));
  if (!made->fd_) return system_error("make '" + made->written_ + "'");
  return made;
}

NewFile::NewFile(const std::string& path, bool in_place)
    : path_(path),
      in_place_(in_place),
      written_(in_place ? path : path + "." + std::to_string(::getpid())),
      fd_(::open(written_.c_str(), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_EXCL),
                 0644)) {}

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
