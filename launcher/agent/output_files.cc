#include "launcher/agent/output_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kFolderPrefix = "rank.";
constexpr std::string_view kDigits = "0123456789";

std::size_t width(std::uint32_t world_size) {
  return std::to_string(std::max(world_size, 1u) - 1).size();
}

// Removes what has been made so far, unless all of it could be.
class Made {
 public:
  Made() = default;
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() {
    for (auto path = paths_.rbegin(); path != paths_.rend(); ++path) std::remove(path->c_str());
  }
  void add(std::string path) { paths_.push_back(std::move(path)); }
  void keep() { paths_.clear(); }

 private:
  std::vector<std::string> paths_;
};

Status cannot(std::string_view what, const std::string& path, int error) {
  return Status(
      Code::kUnavailable, Scope::kOperation,
      "--output-dir: cannot " + std::string(what) + " '" + path + "': " + std::strerror(error));
}

Status in_the_way(const std::string& path) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "--output-dir: '" + path +
                    "' is output of another job; move it away, or use another directory (%j in its "
                    "name is replaced by the job's id)");
}

// Held while files are made: jobs of 5 and of 50 ranks, whose files have different names, must not
// miss each other. Where a file system knows no locks of directories only that is not noticed.
Result<UniqueFd> lock_directory(const std::string& path) {
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return cannot("open", path, errno);
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return directory;
  return Status(Code::kUnavailable, Scope::kOperation,
                "--output-dir: another job is creating its output at this moment in '" + path +
                    "'; use another directory (%j in its name is replaced by the job's id)");
}

bool is_folder_of_other_width(const std::string& name, std::size_t own_width) {
  if (!name.starts_with(kFolderPrefix)) return false;
  const std::string_view number = std::string_view(name).substr(kFolderPrefix.size());
  return !number.empty() && number.size() != own_width &&
         number.find_first_not_of(kDigits) == std::string_view::npos;
}

// Files of a job whose ranks' names have another width than `place`'s.
Status check_for_others(const OutputPlace& place) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(place.directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::filesystem::path& folder = entry->path();
    if (folder.filename().string().starts_with("restart.")) return in_the_way(folder);
    if (!is_folder_of_other_width(folder.filename().string(), width(place.world_size))) continue;
    for (const char* name : {"stdout", "stderr"}) {
      std::error_code missing;
      if (std::filesystem::exists(folder / name, missing)) return in_the_way(folder / name);
    }
  }
  return error ? cannot("read the directory", place.directory, error.value()) : Status();
}

Status make_folder(const std::string& path, Made& made) {
  if (::mkdir(path.c_str(), 0777) == 0)
    made.add(path);
  else if (errno != EEXIST)
    return cannot("make the directory", path, errno);
  return Status();
}

Result<OutputFile> make_file(std::string path, Made& made) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
  if (!fd && errno == EEXIST) return in_the_way(path);
  if (!fd) return cannot("make", path, errno);
  made.add(path);
  return OutputFile{.path = std::move(path), .fd = std::move(fd)};
}

}  // namespace

std::string rank_folder(std::uint32_t rank, std::uint32_t world_size) {
  const std::string number = std::to_string(rank);
  const std::size_t padding = width(world_size) - std::min(width(world_size), number.size());
  return std::string(kFolderPrefix) + std::string(padding, '0') + number;
}

Result<std::vector<RankFiles>> make_output_files(const OutputPlace& place) {
  std::error_code error;
  std::filesystem::create_directories(place.directory, error);
  if (error) return cannot("make the directory", place.directory, error.value());
  PACELINE_TRY_ASSIGN(const UniqueFd lock, lock_directory(place.directory));
  PACELINE_TRY(check_for_others(place));
  Made made;
  std::vector<RankFiles> files;
  for (const std::uint32_t rank : place.ranks) {
    const std::string folder = place.directory + '/' + rank_folder(rank, place.world_size);
    PACELINE_TRY(make_folder(folder, made));
    PACELINE_TRY_ASSIGN(OutputFile output, make_file(folder + "/stdout", made));
    PACELINE_TRY_ASSIGN(OutputFile errors, make_file(folder + "/stderr", made));
    files.push_back({.output = std::move(output), .error = std::move(errors)});
  }
  made.keep();
  return files;
}

}  // namespace paceline::launcher
