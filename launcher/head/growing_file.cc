#include "launcher/head/growing_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/new_file.h"
#include "launcher/system/system.h"

namespace paceline::launcher {

Result<std::unique_ptr<GrowingFile>> GrowingFile::make(const std::string& path,
                                                       std::string_view what) {
  std::error_code error;
  if (std::filesystem::is_fifo(path, error))
    return Status(
        Code::kInvalidArgument, Scope::kOperation,
        "cannot write " + std::string(what) + " to '" + path + "': it is a pipe; use a file");
  PACELINE_TRY_ASSIGN(const std::unique_ptr<NewFile> file, NewFile::make(path));
  PACELINE_TRY_ASSIGN(UniqueFd fd, file->put_in_place());
  return std::unique_ptr<GrowingFile>(new GrowingFile(path, std::move(fd)));
}

// /dev/stdout may be a file that others have begun.
GrowingFile::GrowingFile(std::string path, UniqueFd fd)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      bytes_(static_cast<std::size_t>(std::max<off_t>(::lseek(fd_.get(), 0, SEEK_END), 0))) {}

Status GrowingFile::append(const std::string& piece) {
  if (!fd_) return {};
  if (write_all(fd_.get(), piece)) {
    bytes_ += piece.size();
    return {};
  }
  const Status why = system_error("write '" + path_ + "'");
  // A device has no length, and nothing was written to it.
  [[maybe_unused]] const int cut = ::ftruncate(fd_.get(), static_cast<off_t>(bytes_));
  fd_.reset();
  return why;
}

}  // namespace paceline::launcher
