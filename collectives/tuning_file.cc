#include "collectives/tuning_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <unistd.h>

#include "comm/base/machine.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10;
constexpr const char* kNoTuning = "none";

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Status no_use(const std::string& path, const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kProcess, "the tuning file '" + path + "' " + why);
}

Result<std::optional<std::string>> read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr && errno == ENOENT) return std::optional<std::string>();
  if (file == nullptr) return no_use(path, std::string("cannot be read: ") + std::strerror(errno));
  std::string text(kMostBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return no_use(path, "cannot be read");
  if (text.size() > kMostBytes) return no_use(path, "is longer than 64 KiB");
  return std::optional(std::move(text));
}

}  // namespace

std::string tuning_folder(FunctionRef<const char*(const char*)> variable) {
  const char* const cache = variable("XDG_CACHE_HOME");
  const char* const home = variable("HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/paceline";
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/paceline";
  return "";
}

std::string tuning_name(const std::string& machine) { return "tuning-" + machine; }

Result<std::optional<shm::Tuning>> read_tuning(const std::string& path,
                                               const std::string& machine) {
  PACELINE_TRY_ASSIGN(const auto text, read_text(path));
  if (!text) return std::optional<shm::Tuning>();
  Result<shm::Tuning> tuning = shm::parse_tuning(*text);
  if (!tuning.ok()) return no_use(path, "is malformed: " + tuning.status().text());
  if (tuning->machine != machine)
    return no_use(path, "was measured on another machine (" + tuning->machine +
                            "; this machine is " + machine + ")");
  return std::optional(*std::move(tuning));
}

Result<std::optional<shm::Tuning>> tuning_of(const Environment& environment) {
  if (environment.tuning == kNoTuning) return std::optional<shm::Tuning>();
  if (environment.tuning.empty()) {
    const std::string folder = tuning_folder(::getenv);
    // Most users have none, and to find out which machine this is takes 0.2 ms on one of 2 CPUs.
    if (folder.empty() || ::access(folder.c_str(), F_OK) != 0) return std::optional<shm::Tuning>();
    const std::string machine = machine_fingerprint();
    return read_tuning(folder + "/" + tuning_name(machine), machine);
  }
  PACELINE_TRY_ASSIGN(auto tuning, read_tuning(environment.tuning, machine_fingerprint()));
  if (!tuning) return no_use(environment.tuning, "does not exist");
  return tuning;
}

}  // namespace paceline
