#include "launcher/tools/measure/check/check_options.h"

#include <string_view>
#include <vector>

#include "comm/base/try.h"
#include "launcher/options/option_values.h"
#include "launcher/options/plain_options.h"
#include "launcher/options/run_options.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kHelp =
    "usage: paceline check [-H a,b,… | --hostfile FILE] [options]\n"
    "Checks hosts, and the network between them, before a job. Names the host, link or setting\n"
    "that is bad, with evidence. You set no thresholds: links are compared with their peers, with\n"
    "their rated speed, and with a baseline. A host that cannot take part is named, and the "
    "others\n"
    "are measured without it.\n"
    "\n"
    "Hosts (options of `paceline run`, one rank each; default: this host)\n"
    "  -H, --host A,B         Hosts\n"
    "  --hostfile FILE        File with one host per line; hosts with slots=0 are left out\n"
    "  --engine NAME          How agents start: ssh, slurm, mpirun, lab or lab:NAME (default: "
    "slurm\n"
    "                         inside a Slurm allocation, otherwise ssh)\n"
    "  --launch-agent CMD, --ssh-args ARGS, --agent-path FILE, -x VAR[=VALUE]\n"
    "Measurement\n"
    "  --quick                Shorter measurements, one direction at a time: 8 hosts in a minute\n"
    "Output\n"
    "  --json FILE            Write all results as one JSON document; - is standard output\n"
    "  --baseline FILE        Also compare links with such a document of an earlier, good day\n"
    "  --from FILE            Judge such a document again, without a measurement\n"
    "  --verbose              Also show findings that are fine\n"
    "  -h, --help             This page\n"
    "\n"
    "Steps:\n"
    "  1. Each host reports the settings that its kernel shows: CPUs, memory, NUMA, governor,\n"
    "     SMT, huge pages, limits, /dev/shm, control groups, socket buffers, MTU, NIC, clock. It\n"
    "     measures the CPU time that a thread gets, and how fast it copies memory.\n"
    "  2. Disjoint pairs of hosts measure latency, and bandwidth in both directions, at the same\n"
    "     time. Up to 16 hosts measure all pairs; n hosts measure 2 log2 n rounds. Slow pairs are\n"
    "     measured again, and the best value counts.\n"
    "  3. All-reduce runs among 2, 4, 8, … hosts, with the columns of nccl-tests. 'wire' is the\n"
    "     traffic of the busiest network device, with headers.\n"
    "\n"
    "Verdict:\n"
    "  OK        no fault was found\n"
    "  DEGRADED  with the cause: host egress, host ingress, a pair, packet loss, all links, a "
    "host\n"
    "            that is CPU-bound, not link-bound, stopped answering, or cannot run jobs\n"
    "  UNKNOWN   no fault was found, and health is not proven either, for example for two hosts\n"
    "            without rated links\n"
    "\n"
    "Exit code:\n"
    "  0    OK\n"
    "  1    DEGRADED or UNKNOWN\n"
    "  125  not checked, for example because of a wrong option\n"
    "\n"
    "Examples:\n"
    "  paceline check --hostfile hosts --quick\n"
    "  paceline check -H node[01-08] --json today.json && paceline run --hostfile hosts ./train\n"
    "  paceline check -H node[01-08] --baseline good.json   # good.json: an earlier --json\n"
    "  paceline check --from today.json --verbose\n";

// Shorter, one way at a time.
constexpr probe::CheckOrders kQuick{.flow_ms = 400,
                                    .ping_ms = 50,
                                    .spin_ms = 300,
                                    .reduce_ms = 200,
                                    .again = 4,
                                    .both_ways = false};

constexpr PlainOption kOptions[] = {
    {"-H", true},
    {"--host", true},
    {"--hostfile", true},
    {"--engine", true},
    {"--launch-agent", true},
    {"--ssh-args", true},
    {"--agent-path", true},
    {"-x", true},
    {"--env", true},
    {"--quick"},
    {"--verbose"},
    {"--json", true},
    {"--baseline", true},
    {"--from", true},
};

constexpr PlainCommand kCommand{
    .name = "check", .options = kOptions, .hint = "use -H or --hostfile for hosts"};

// Options that are none of check's own go to `job_words`: `paceline run` has them.
void take(const GivenOption& option, CheckRequest& into, std::vector<std::string>& job_words) {
  if (option.name == "--quick") {
    into.quick = true;
    into.orders = kQuick;
  } else if (option.name == "--verbose") {
    into.verbose = true;
  } else if (option.name == "--json") {
    into.json_file = option.value;
  } else if (option.name == "--baseline") {
    into.baseline_file = option.value;
  } else if (option.name == "--from") {
    into.from_file = option.value;
  } else {
    job_words.insert(job_words.end(), {option.name, option.value});
  }
}

}  // namespace

Result<CheckRequest> parse_check(std::span<const std::string> arguments) {
  CheckRequest request;
  PACELINE_TRY_ASSIGN(const std::vector<GivenOption> given, given_options(kCommand, arguments));
  std::vector<std::string> job_words;
  for (const GivenOption& option : given) take(option, request, job_words);
  if (!request.from_file.empty() && !job_words.empty())
    return usage_error("--from judges an earlier measurement; leave out the hosts");
  PACELINE_TRY_ASSIGN(request.job, parse_job_options(job_words));
  return request;
}

std::string check_help() { return std::string(kHelp); }

}  // namespace paceline::launcher
