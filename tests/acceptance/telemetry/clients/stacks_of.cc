// A client of the control service of a job on this host. Usage: stacks_of JOB RANK…
// Prints the snapshot with the stacks of these ranks as JSON. Exit code 1 with the reason if the
// job refuses, 77 if this paceline has no control service.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "launcher/control/job_client.h"
#include "launcher/registry/registry.h"

namespace paceline::launcher {
namespace {

int fail(const Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.text()).c_str());
  return 1;
}

int run(const std::string& job, const std::vector<std::uint32_t>& ranks) {
  if (const std::string off = control_is_off(); !off.empty()) {
    std::fprintf(stderr, "%s\n", off.c_str());
    return 77;
  }
  auto client = JobClient::connect(JobRegistry(JobRegistry::here()).folder_of(job));
  if (!client.ok()) return fail(client.status());
  const auto snapshot = client->describe(ranks);
  if (!snapshot.ok()) return fail(snapshot.status());
  const auto json = client->to_json(*snapshot);
  if (!json.ok()) return fail(json.status());
  std::puts(json->c_str());
  return 0;
}

}  // namespace
}  // namespace paceline::launcher

int main(int count, char** words) {
  if (count < 2) return 2;
  std::vector<std::uint32_t> ranks;
  for (int i = 2; i < count; ++i)
    ranks.push_back(static_cast<std::uint32_t>(std::strtoul(words[i], nullptr, 10)));
  return paceline::launcher::run(words[1], ranks);
}
