#include "launcher/tools/measure/check/check_options.h"

#include <string_view>

#include "comm/base/try.h"
#include "launcher/options/option_values.h"
#include "launcher/options/plain_options.h"
#include "launcher/options/run_options.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kHelp =
    "usage: paceline check [-H a,b,… | --hostfile FILE] [options]\n"
    "Says whether these hosts, and the ways between them, are fit for a job: which host, link or\n"
    "setting is bad, with evidence. It sets no thresholds that you would have to know: links are\n"
    "held against their peers, and against what they are rated at.\n"
    "\n"
    "Hosts (as for `paceline run`, one rank each; without any: this host alone)\n"
    "  -H, --host A,B         Hosts\n"
    "  --hostfile FILE        The same, a line each; slots do not matter\n"
    "  --engine NAME          What starts agents there: ssh (default), slurm, mpirun, lab\n"
    "  --launch-agent CMD, --ssh-args ARGS, --agent-path FILE, -x VAR[=VALUE]\n"
    "Measurement\n"
    "  --quick                Shorter flows, one way at a time: 8 hosts within a minute\n"
    "Output\n"
    "  --json FILE            All of it as one JSON document; - is standard output\n"
    "  --from FILE            Judge such a document again, and measure nothing\n"
    "  --verbose              Also the findings that are fine\n"
    "  -h, --help             This page\n"
    "\n"
    "What it does: each host says what its kernel shows (CPUs, memory, NUMA, governor, SMT, huge\n"
    "pages, limits, /dev/shm, control groups, socket buffers, MTU, NIC, clock), and what a thread\n"
    "gets of its CPUs. Then disjoint pairs at the same time, round after round: latency, and\n"
    "bandwidth each way. All pairs of up to 16 hosts; of n more, 2 log2 n rounds. What was slow "
    "is\n"
    "measured again, and the best counts. Then all-reduce among 2, 4, 8, … hosts, in nccl-tests'\n"
    "columns; wire is what the busiest network device sent, headers and all.\n"
    "\n"
    "Verdict: OK; DEGRADED, naming host egress, host ingress, pair, or a host that is CPU-bound,\n"
    "not link-bound; UNKNOWN where nothing can be said, as of two hosts whose links state no "
    "rate.\n"
    "\n"
    "Exit code: 0 for OK; 1 for DEGRADED and for UNKNOWN, since nobody has shown that all is "
    "well;\n"
    "125 where it could not be checked: a mistake here, or a host that does not answer.\n"
    "\n"
    "Examples:\n"
    "  paceline check --hostfile hosts --quick\n"
    "  paceline check -H node[01-08] --json today.json && paceline run --hostfile hosts ./train\n"
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
    {"--from", true},
};

constexpr PlainCommand kCommand{
    .name = "check", .options = kOptions, .hint = "hosts stand behind -H, or in a --hostfile"};

// What is none of check's own is for `paceline run` to understand.
void take(const GivenOption& option, CheckRequest& into) {
  if (option.name == "--quick") {
    into.quick = true;
    into.orders = kQuick;
  } else if (option.name == "--verbose") {
    into.verbose = true;
  } else if (option.name == "--json") {
    into.json_file = option.value;
  } else if (option.name == "--from") {
    into.from_file = option.value;
  } else {
    into.host_words.insert(into.host_words.end(), {option.name, option.value});
  }
}

}  // namespace

Result<CheckRequest> parse_check(std::span<const std::string> arguments) {
  CheckRequest request;
  PACELINE_TRY_ASSIGN(const std::vector<GivenOption> given, given_options(kCommand, arguments));
  for (const GivenOption& option : given) take(option, request);
  if (!request.from_file.empty() && !request.host_words.empty())
    return usage_error("--from judges what was measured before; it takes no hosts");
  std::vector<std::string> words = request.host_words;
  words.insert(words.end(), {"--", "probe"});
  PACELINE_TRY_ASSIGN(request.job, parse_run(words));
  return request;
}

std::string check_help() { return std::string(kHelp); }

}  // namespace paceline::launcher
