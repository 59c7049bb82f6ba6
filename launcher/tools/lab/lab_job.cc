#include "launcher/tools/lab/lab_job.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/types.h>

#include "comm/base/clock.h"
#include "comm/base/try.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/lab_exec.h"
#include "launcher/tools/lab/lab_folder.h"
#include "launcher/tools/lab/lab_options.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kLab = "lab";

// "lab" is the lab of the name that `lab up` gives by default.
std::optional<std::string> lab_name(const std::string& engine) {
  if (engine == kLab) return LabPlan().name;
  if (engine.starts_with("lab:")) return engine.substr(kLab.size() + 1);
  return std::nullopt;
}

Result<LabFolders::Found> find_lab(const std::string& name) {
  const SystemClock clock;
  return LabFolders(LabFolders::here(), clock).find(name);
}

bool is_in_network_of(pid_t process) {
  const auto network_of = [](const std::string& whose) {
    std::error_code unreadable;
    return std::filesystem::read_symlink("/proc/" + whose + "/ns/net", unreadable);
  };
  return network_of("self") == network_of(std::to_string(process));
}

}  // namespace

Result<std::optional<int>> run_in_lab(JobSpec& job, const std::vector<std::string>& command,
                                      std::span<const std::string> arguments) {
  const std::optional<std::string> name = lab_name(job.engine);
  if (!name) return std::optional<int>();
  PACELINE_TRY_ASSIGN(const LabFolders::Found lab, find_lab(*name));
  // By its path: a program that begins by the link of a process outside has no path in a chroot.
  PACELINE_TRY_ASSIGN(std::string program, path_of_this_program());
  std::vector<std::string> words{std::move(program)};
  words.insert(words.end(), command.begin(), command.end());
  if (job.hosts.empty() && job.host_file.empty()) {
    job.host_file = lab.path + "/hosts";
    words.insert(words.end(), {"--hostfile", job.host_file});
  }
  if (is_in_network_of(lab.record.keeper.pid)) return std::optional<int>();
  words.insert(words.end(), arguments.begin(), arguments.end());
  PACELINE_TRY_ASSIGN(const int code, lab_exec(lab.record, std::nullopt, words));
  return std::optional(code);
}

}  // namespace paceline::launcher
