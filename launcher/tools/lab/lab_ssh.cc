#include "launcher/tools/lab/lab_ssh.h"

#include <string>

#include "comm/base/read_file.h"
#include "comm/base/try.h"
#include "launcher/system/run_program.h"
#include "launcher/tools/lab/system_program.h"

namespace paceline::launcher {
namespace {

constexpr Duration kKeyMaking = std::chrono::seconds(20);
constexpr const char* kHostKey = "host_key";
constexpr const char* kUserKey = "user_key";

Status make_key(const std::string& program, const std::string& file) {
  return run_program({program, "-q", "-t", "ed25519", "-N", "", "-C", "paceline-lab", "-f", file},
                     "", kKeyMaking);
}

// The folder is its user's alone, but sshd looks at the path in the host, below a /run of root's.
std::string sshd_config() {
  const std::string folder = std::string(kLabFolderInHosts) + "/";
  return "Port 22\nHostKey " + folder + kHostKey + "\nAuthorizedKeysFile " + folder + kUserKey +
         ".pub\nUsePAM no\nStrictModes no\nUseDNS no\nPermitRootLogin yes\n"
         "PasswordAuthentication no\nMaxStartups 1000\nMaxSessions 1000\nPrintMotd no\n"
         "SetEnv XDG_RUNTIME_DIR=/run/user/0\n";
}

std::string ssh_config(const std::string& folder, const LabPlan& plan) {
  std::string text;
  for (int host = 0; host < plan.hosts; ++host)
    text += "Host " + lab_host(host) + "\n  HostName " + lab_address(host, 0) + "\n";
  return text + "Host *\n  User root\n  IdentityFile " + folder + "/" + kUserKey +
         "\n  IdentitiesOnly yes\n  UserKnownHostsFile " + folder +
         "/known_hosts\n  StrictHostKeyChecking yes\n  BatchMode yes\n  LogLevel ERROR\n";
}

std::string known_hosts(const LabPlan& plan, const std::string& key) {
  std::string text;
  for (int host = 0; host < plan.hosts; ++host) text += lab_address(host, 0) + " " + key;
  return text;
}

}  // namespace

Status write_ssh_files(const LabFolder& folder, const LabPlan& plan) {
  const std::string path = folder.path();
  PACELINE_TRY_ASSIGN(const std::string keygen,
                      find_system_program("ssh-keygen", "openssh-client"));
  for (const char* key : {kHostKey, kUserKey}) PACELINE_TRY(make_key(keygen, path + "/" + key));
  const std::string host_key = read_file(path + "/" + kHostKey + ".pub");
  PACELINE_TRY(write_lab_file(folder, "known_hosts", known_hosts(plan, host_key)));
  PACELINE_TRY(write_lab_file(folder, "sshd_config", sshd_config()));
  return write_lab_file(folder, "ssh_config", ssh_config(path, plan));
}

}  // namespace paceline::launcher
