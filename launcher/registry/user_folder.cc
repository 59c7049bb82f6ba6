#include "launcher/registry/user_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

Status refuse(const std::string& path, const std::string& why) {
  return Status(Code::kExhausted, Scope::kProcess, path + ": " + why);
}

}  // namespace

std::vector<std::string> runtime_places(const std::function<const char*(const char*)>& variable,
                                        uid_t user) {
  std::vector<std::string> places;
  const auto add = [&places](const char* place) {
    const bool usable = place != nullptr && place[0] == '/';
    if (usable && std::find(places.begin(), places.end(), place) == places.end())
      places.emplace_back(place);
  };
  add(variable("XDG_RUNTIME_DIR"));
  add(("/run/user/" + std::to_string(user)).c_str());
  add(variable("TMPDIR"));
  add("/tmp");
  return places;
}

void UserFolder::remove_if_empty() const { ::rmdir(path.c_str()); }

Result<UserFolder> open_user_folder(const std::string& place, uid_t user, IfMissing if_missing,
                                    std::optional<uid_t> owner) {
  const std::string path = place + "/paceline-" + std::to_string(user);
  if (if_missing == IfMissing::kMake && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return refuse(path, std::strerror(errno));
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno == ENOENT)
    return Status(Code::kUnavailable, Scope::kProcess, path + ": does not exist");
  if (!folder && (errno == ENOTDIR || errno == ELOOP))
    return refuse(path, "is not a folder, perhaps an attack; remove it");
  if (!folder) return refuse(path, std::strerror(errno));
  struct stat found {};
  if (::fstat(folder.get(), &found) != 0) return refuse(path, std::strerror(errno));
  if (found.st_uid != owner.value_or(user))
    return refuse(path, "belongs to user " + std::to_string(found.st_uid) + ", not to you");
  if ((found.st_mode & 077) != 0)
    return refuse(path, "other users have access to it; remove it, or chmod 700 it");
  return UserFolder{.fd = std::move(folder), .path = path};
}

}  // namespace paceline::launcher
