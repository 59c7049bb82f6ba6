// paceline lab: a cluster on this machine, and trouble in it.
#include <cstdio>
#include <string>

#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/system/complain.h"
#include "launcher/tools/lab/lab_exec.h"
#include "launcher/tools/lab/lab_faults.h"
#include "launcher/tools/lab/lab_folder.h"
#include "launcher/tools/lab/lab_options.h"
#include "launcher/tools/lab/lab_units.h"
#include "launcher/tools/lab/lab_up.h"

namespace paceline::launcher {
namespace {

std::string counted(int count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string title(const LabPlan& plan) {
  std::string text = "lab " + plan.name + ": " + counted(plan.hosts, "host") + ", " +
                     counted(plan.slots, "slot") + " each, links of ";
  for (int rail = 0; rail < plan.rails(); ++rail)
    text +=
        (rail == 0 ? "" : " and ") + bit_rate_text(plan.rates_bits[static_cast<std::size_t>(rail)]);
  if (plan.delay != Duration::zero()) text += ", delay " + delay_text(plan.delay);
  return text + (plan.ssh ? ", sshd" : "");
}

void print_lab(const LabFolders::Found& lab) {
  std::printf("%s\n", title(lab.record.plan).c_str());
  if (!lab.record.is_complete()) {
    std::puts("  is being made");
    return;
  }
  for (int host = 0; host < lab.record.plan.hosts; ++host) {
    std::string line = "  " + lab_host(host);
    for (int rail = 0; rail < lab.record.plan.rails(); ++rail)
      line += "  " + lab_address(host, rail);
    const LabHostState state = state_of(lab.record, host);
    line += "  process " + std::to_string(lab.record.inits[static_cast<std::size_t>(host)].pid);
    line += state == LabHostState::kKilled   ? "  killed"
            : state == LabHostState::kPaused ? "  paused"
                                             : "";
    std::puts(line.c_str());
  }
  if (lab.record.plan.ssh)
    std::printf("  paceline lab exec --name %s switch -- ssh -F %s/%s h1\n",
                lab.record.plan.name.c_str(), lab.path.c_str(), kSshConfig);
}

// The last line is the hostfile alone, for scripts.
void print_hostfile(const LabFolders::Found& lab) { std::printf("%s/hosts\n", lab.path.c_str()); }

void print_next_step(const LabPlan& plan) {
  const std::string engine = plan.name == LabPlan().name ? "lab" : "lab:" + plan.name;
  std::printf("  paceline run --engine %s -n %d -- hostname\n", engine.c_str(),
              plan.hosts * plan.slots);
}

Result<int> up(const LabFolders& folders, const LabPlan& plan) {
  PACELINE_TRY_ASSIGN(const LabFolders::Found lab, make_lab(folders, LabFolders::here(), plan));
  print_lab(lab);
  print_next_step(lab.record.plan);
  print_hostfile(lab);
  return 0;
}

Result<int> down(const LabFolders& folders, const std::string& name) {
  PACELINE_TRY_ASSIGN(const bool removed, folders.remove(name));
  folders.sweep();  // what a killed `up` had not yet given its name
  std::printf(removed ? "lab %s is removed\n" : "there is no lab %s\n", name.c_str());
  return 0;
}

int list(const LabFolders& folders) {
  const LabFolders::Sweep sweep = folders.sweep();
  if (sweep.up.empty()) std::puts("you have no labs");
  for (const LabFolders::Found& lab : sweep.up) {
    print_lab(lab);
    std::printf("  hostfile ");
    print_hostfile(lab);
  }
  for (const std::string& name : sweep.removed)
    std::fprintf(stderr, "paceline: lab %s had ended; its files are removed\n", name.c_str());
  return 0;
}

Result<int> exec(const LabFolders& folders, const LabRequest& request) {
  PACELINE_TRY_ASSIGN(const LabFolders::Found lab, folders.find(request.plan.name));
  const std::optional<int> host = find_lab_host(lab.record.plan, request.host);
  if (!host && request.host != kSwitch)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "lab '" + request.plan.name + "' has no host '" + printable(request.host) +
                      "'; it has h1 to " + lab_host(lab.record.plan.hosts - 1) + ", and switch");
  return lab_exec(lab.record, host, request.command);
}

Result<int> trouble(const LabFolders& folders, const LabRequest& request, const Clock& clock) {
  PACELINE_TRY_ASSIGN(const LabFolders::Found lab, folders.find(request.plan.name));
  PACELINE_TRY(make_trouble(lab.record, request.action, request.fault, clock));
  return 0;
}

Result<int> act(const LabRequest& request) {
  const SystemClock clock;
  const LabFolders folders(LabFolders::here(), clock);
  switch (request.action) {
    case LabAction::kUp:
      return up(folders, request.plan);
    case LabAction::kDown:
      return down(folders, request.plan.name);
    case LabAction::kList:
      return list(folders);
    case LabAction::kExec:
      return exec(folders, request);
    default:
      return trouble(folders, request, clock);
  }
}

}  // namespace

int lab_command(std::span<const std::string> arguments) {
  if (lab_asks_for_help(arguments)) {
    std::fputs(lab_help().c_str(), stdout);
    return 0;
  }
  const Result<LabRequest> request = parse_lab(arguments);
  if (!request.ok()) return complain(request.status().text() + "\nTry: paceline lab --help");
  const Result<int> code = act(*request);
  return code.ok() ? *code : complain(code.status().text());
}

}  // namespace paceline::launcher
