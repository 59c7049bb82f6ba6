#include "launcher/head/membership_file.h"

#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/input_file.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/system/file_lock.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

using Warn = std::function<void(const std::string&)>;

std::string quoted(const std::string& path) { return "the membership log '" + path + "'"; }

}  // namespace

Result<std::unique_ptr<MembershipFile>> MembershipFile::open(const std::string& path,
                                                             const MembershipJob& job,
                                                             const Warn& warn) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  struct stat about {};
  if (!fd || ::fstat(fd.get(), &about) != 0) return system_error("open " + quoted(path));
  const auto refused = [&path](const std::string& why) {
    return Status(Code::kInvalidArgument, Scope::kOperation, quoted(path) + ": " + why);
  };
  if (!S_ISREG(about.st_mode)) return refused("it is not an ordinary file");
  const auto waits = [&] {
    warn("waiting up to " + seconds_text(kPatience) + " for " + quoted(path) +
         ", which another job has open");
  };
  PACELINE_TRY_ASSIGN(const bool is_locked, lock_file(fd.get(), quoted(path), kPatience, waits));
  if (!is_locked) return refused("another job that runs writes it");
  std::unique_ptr<MembershipFile> file(new MembershipFile(path, std::move(fd)));
  if (const Status read = file->read(job); !read.ok()) return refused(std::string(read.text()));
  return file;
}

Status MembershipFile::read(const MembershipJob& job) {
  PACELINE_TRY_ASSIGN(const std::string text, read_input(path_, kMaxBytes));
  PACELINE_TRY_ASSIGN(const MembershipLog log, parse_membership_log(text, job));
  before_ = log.members;
  bytes_ = log.whole_bytes;
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0)
    return system_error("remove its last line");
  if (bytes_ > 0) return {};
  return write(membership_header(job));
}

Status MembershipFile::append(const MembershipEntry& entry) {
  const std::string line = membership_line(entry);
  if (is_torn_ || bytes_ + line.size() > kMaxBytes)
    return Status(Code::kExhausted, Scope::kProcess,
                  quoted(path_) + (is_torn_ ? " ends with a part of an entry"
                                            : " is full: it has its max size of 64 MiB"));
  return write(line);
}

Status MembershipFile::write(const std::string& text) {
  if (write_all(fd_.get(), text)) {
    bytes_ += text.size();
    return {};
  }
  const Status why = system_error("write " + quoted(path_));
  is_torn_ = ::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0;
  return why;
}

}  // namespace paceline::launcher
