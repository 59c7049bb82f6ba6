#include "launcher/options/peer_options.h"

#include <algorithm>
#include <iterator>

namespace paceline::launcher {
namespace {

struct PeerOption {
  std::string_view name;  // without dashes, words set apart by '-'
  std::string_view instead;
};

constexpr std::string_view kRanksOfAHost =
    "use -N K for the ranks of each host, or -n for all ranks of the job";
constexpr std::string_view kHosts =
    "name the hosts by -H or --hostfile; paceline run starts the ranks of all of them";
constexpr std::string_view kMeeting =
    "leave it out: the ranks get MASTER_ADDR and MASTER_PORT, and find each other";
constexpr std::string_view kFile = "use --hostfile FILE";
constexpr std::string_view kFiles = "use --output-dir DIR";
constexpr std::string_view kVariable = "use -x NAME or -x NAME=VALUE";
constexpr std::string_view kTags = "use --tag-output, the default for several ranks";
constexpr std::string_view kParameters =
    "there are no such parameters; `paceline info` lists the variables that tune a job";
constexpr std::string_view kPlan =
    "use --map-by and --bind-to, or --plan FILE; see paceline run --help-placement";
constexpr std::string_view kMore =
    "use --map-by slot:oversubscribe, which allows more ranks than slots";

constexpr PeerOption kPeerOptions[] = {
    {"nproc-per-node", kRanksOfAHost},
    {"npernode", kRanksOfAHost},
    {"ntasks-per-node", kRanksOfAHost},
    {"tasks-per-node", kRanksOfAHost},
    {"nnodes", kHosts},
    {"nodes", kHosts},
    {"node-rank", kHosts},
    {"nodelist", kHosts},
    {"hosts", "use -H A:4,B:4"},
    {"ntasks", "use -n N"},
    {"standalone", "leave it out: without hosts, the ranks run on this host"},
    {"rdzv-backend", kMeeting},
    {"rdzv-endpoint", kMeeting},
    {"rdzv-id", kMeeting},
    {"rdzv-conf", kMeeting},
    {"master-addr", kMeeting},
    {"master-port", kMeeting},
    {"local-addr", "use PACELINE_NET to select the network"},
    {"machinefile", kFile},
    {"f", kFile},
    {"default-hostfile", kFile},
    {"app", "separate programs by ':', as in -n 1 ./a : -n 2 ./b"},
    {"configfile", "separate programs by ':', as in -n 1 ./a : -n 2 ./b"},
    {"output-filename", kFiles},
    {"output", kFiles},
    {"log-dir", kFiles},
    {"redirects", kFiles},
    {"tee", "use --output-dir DIR, which also shows the output of all ranks"},
    {"local-ranks-filter", "use --console-ranks LIST"},
    {"l", kTags},
    {"label", kTags},
    {"prepend-rank", kTags},
    {"genv", kVariable},
    {"genvlist", kVariable},
    {"envlist", kVariable},
    {"export", kVariable},
    {"genvall", "use -x ALL"},
    {"envall", "use -x ALL"},
    {"wd", "use --wdir DIR"},
    {"chdir", "use --wdir DIR"},
    {"mca", kParameters},
    {"gmca", kParameters},
    {"prtemca", kParameters},
    {"tune", kParameters},
    {"rankfile", kPlan},
    {"rf", kPlan},
    {"cpus-per-task", kPlan},
    {"cpu-bind", kPlan},
    {"distribution", kPlan},
    {"bind-to-core", "use --bind-to core"},
    {"bind-to-socket", "use --bind-to package"},
    {"bynode", "use --map-by node"},
    {"bycore", "use --map-by core"},
    {"display-map", "use --report-bindings, or --dry-run"},
    {"display-allocation", "use --dry-run"},
    {"oversubscribe", kMore},
    {"overcommit", kMore},
    {"nooversubscribe", "leave it out: it is the default"},
    {"monitor-interval", "leave it out: the end of a rank is seen at once"},
    {"start-method", "leave it out: ranks are processes of their own"},
    {"module", "write python3 -m MODULE as the program"},
    {"m", "write python3 -m MODULE as the program"},
    {"no-python", "leave it out: the program is executed as it is written"},
    {"python", "write python3 before the script"},
    {"launcher", "use --engine ssh, slurm or mpirun"},
    {"allow-run-as-root", "leave it out: root may run jobs"},
    {"verbose", "use --timings, or PACELINE_LOG_LEVEL=info for the library"},
};

}  // namespace

std::optional<std::string> instead_of(std::string_view option) {
  std::string name(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::ranges::replace(name, '_', '-');
  const auto found = std::ranges::find(kPeerOptions, name, &PeerOption::name);
  if (found == std::end(kPeerOptions)) return {};
  return std::string(found->instead);
}

}  // namespace paceline::launcher
