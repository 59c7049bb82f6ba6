#include "launcher/tools/lab/lab_options.h"

#include <algorithm>
#include <string_view>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/tools/lab/lab_units.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kHelp =
    "usage: paceline lab up [--hosts N] [--slots N] [--rate R] [--delay D] [--ssh]\n"
    "                    [--rails 2 [--rate2 R]]\n"
    "       paceline lab list | status | down\n"
    "       paceline lab exec HOST -- PROGRAM [arguments…]\n"
    "       paceline lab slow HOST RATE [--egress | --ingress] [--peer HOST]\n"
    "       paceline lab drop HOST PERCENT\n"
    "       paceline lab cut | oneway | pause | resume | kill HOST  |  mtu HOST BYTES\n"
    "       paceline lab cpu HOST CPUS  |  heal [HOST]\n"
    "A lab is a cluster on this machine. Its hosts h1, h2, … have their own namespaces (network,\n"
    "host name, IPC, processes, mounts) and are connected to a switch. Links are limited in both\n"
    "directions. Hosts share the file system, except /dev/shm and /run. The machine's own\n"
    "network is not changed.\n"
    "\n"
    "  up       makes a lab and prints its hostfile\n"
    "             --hosts N    number of hosts (default 4)\n"
    "             --slots N    slots per host in the hostfile (default 1)\n"
    "             --rate R     rate of every link: 1gbit, 300mbit (default: no limit)\n"
    "             --delay D    delay between hosts: 200us, 5ms (default: none)\n"
    "             --rails 2    also a second network, eth1, at --rate2\n"
    "             --ssh        an sshd on each host\n"
    "  exec     runs a program on a host; passes on input, output, signals and exit code.\n"
    "           HOST 'switch' is the switch, which reaches all hosts (10.77.0.254)\n"
    "  slow     sets the rate of the data that a host sends (--egress), receives (--ingress), or\n"
    "           both; with --peer only for data to or from that host\n"
    "  cut      takes the link down       oneway   loses packets that the host sends\n"
    "  drop     loses a share of packets  mtu      loses longer packets, without an error\n"
    "  pause    stops all processes       resume   continues them\n"
    "  kill     ends the host at once     cpu      limits the host to some CPUs (0.5)\n"
    "  heal     removes all faults but kill; without HOST on all hosts\n"
    "  down     removes the lab           list     shows the labs; status is a synonym\n"
    "\n"
    "HOST may be 'all'. --rail N selects one network. --name LAB (default: lab) selects one of\n"
    "several labs. Needs the programs ip, tc and nft, and root or a kernel that allows user\n"
    "namespaces.\n"
    "\n"
    "Exit code: 0 for success, also if `down` finds no such lab. 125: paceline itself failed.\n"
    "exec returns the code of the program, or 128 + signal. 126 and 127: the program cannot be\n"
    "executed, or was not found.\n"
    "\n"
    "Example:  paceline lab up --hosts 2 --rate 1gbit && paceline lab exec h1 -- hostname\n";

std::string quoted(const std::string& word) {
  return std::string("'").append(printable(word)) + "'";
}

// What stands behind a host.
using TakeValue = Status (*)(const std::string& value, LabFault& into);

Status take_rate(const std::string& value, LabFault& into) {
  PACELINE_TRY_ASSIGN(into.rate_bits, parse_bit_rate(value));
  return Status();
}
Status take_loss(const std::string& value, LabFault& into) {
  PACELINE_TRY_ASSIGN(into.loss_thousandths, parse_loss(value));
  return Status();
}
Status take_mtu(const std::string& value, LabFault& into) {
  PACELINE_TRY_ASSIGN(into.mtu, parse_mtu(value));
  return Status();
}
Status take_cpus(const std::string& value, LabFault& into) {
  PACELINE_TRY_ASSIGN(into.cpu_thousandths, parse_cpus(value));
  return Status();
}

enum class HostWord : std::uint8_t { kNone, kMay, kMust };

struct Action {
  std::string_view name;
  LabAction action;
  HostWord host = HostWord::kNone;
  std::string_view value;  // what it is called; empty: there is none
  TakeValue take = nullptr;
};
constexpr Action kActions[] = {
    {"up", LabAction::kUp},
    {"down", LabAction::kDown},
    {"list", LabAction::kList},
    {"status", LabAction::kList},
    {"exec", LabAction::kExec},
    {"slow", LabAction::kSlow, HostWord::kMust, "a RATE", take_rate},
    {"cut", LabAction::kCut, HostWord::kMust},
    {"oneway", LabAction::kOneway, HostWord::kMust},
    {"drop", LabAction::kDrop, HostWord::kMust, "a PERCENT", take_loss},
    {"mtu", LabAction::kMtu, HostWord::kMust, "BYTES", take_mtu},
    {"heal", LabAction::kHeal, HostWord::kMay},
    {"pause", LabAction::kPause, HostWord::kMust},
    {"resume", LabAction::kResume, HostWord::kMust},
    {"kill", LabAction::kKill, HostWord::kMust},
    {"cpu", LabAction::kCpu, HostWord::kMust, "CPUS", take_cpus},
};

// What is being read, beside the request itself.
struct Reading {
  LabRequest request;
  std::vector<std::string> words;  // that are no options
  int rails = 1;
  std::optional<std::int64_t> second_rate;
};

struct Option {
  std::string_view name;
  bool has_value;
  bool (*belongs_to)(LabAction action);
  Status (*take)(const std::string& value, Reading& into);
};

bool is_up(LabAction action) { return action == LabAction::kUp; }
bool is_slow(LabAction action) { return action == LabAction::kSlow; }
bool is_any(LabAction) { return true; }
bool is_of_links(LabAction action) {
  return action == LabAction::kSlow || action == LabAction::kCut || action == LabAction::kOneway ||
         action == LabAction::kDrop || action == LabAction::kMtu;
}

Status take_name(const std::string& value, Reading& into) {
  if (!is_lab_name(value))
    return usage_error(quoted(value) + " is not a lab name; use 1 to 16 of a-z, 0-9 and -");
  into.request.plan.name = value;
  return Status();
}

Status take_hosts(const std::string& value, Reading& into) {
  const auto hosts = parse_number<int>(value);
  if (!hosts || *hosts < 1 || *hosts > kMaxLabHosts)
    return usage_error(quoted(value) + " is not a number of hosts from 1 to " +
                       std::to_string(kMaxLabHosts));
  into.request.plan.hosts = *hosts;
  return Status();
}

Status take_slots(const std::string& value, Reading& into) {
  PACELINE_TRY_ASSIGN(into.request.plan.slots, parse_count(value));
  return Status();
}

// A number of rails, or that of one of them.
Result<int> parse_rail(const std::string& value) {
  const auto rail = parse_number<int>(value);
  if (rail && *rail >= 1 && *rail <= kMaxLabRails) return *rail;
  return usage_error(quoted(value) + " is not from 1 to " + std::to_string(kMaxLabRails));
}

constexpr Option kOptions[] = {
    {"--name", true, is_any, take_name},
    {"--hosts", true, is_up, take_hosts},
    {"--slots", true, is_up, take_slots},
    {"--rate", true, is_up,
     [](const std::string& value, Reading& into) {
       PACELINE_TRY_ASSIGN(into.request.plan.rates_bits[0], parse_bit_rate(value));
       return Status();
     }},
    {"--rails", true, is_up,
     [](const std::string& value, Reading& into) {
       PACELINE_TRY_ASSIGN(into.rails, parse_rail(value));
       return Status();
     }},
    {"--rate2", true, is_up,
     [](const std::string& value, Reading& into) {
       PACELINE_TRY_ASSIGN(into.second_rate, parse_bit_rate(value));
       return Status();
     }},
    {"--delay", true, is_up,
     [](const std::string& value, Reading& into) {
       PACELINE_TRY_ASSIGN(into.request.plan.delay, parse_delay(value));
       return Status();
     }},
    {"--ssh", false, is_up,
     [](const std::string&, Reading& into) {
       into.request.plan.ssh = true;
       return Status();
     }},
    {"--rail", true, is_of_links,
     [](const std::string& value, Reading& into) {
       PACELINE_TRY_ASSIGN(const int rail, parse_rail(value));
       into.request.fault.rail = rail - 1;
       return Status();
     }},
    {"--egress", false, is_slow,
     [](const std::string&, Reading& into) {
       into.request.fault.ingress = false;
       return Status();
     }},
    {"--ingress", false, is_slow,
     [](const std::string&, Reading& into) {
       into.request.fault.egress = false;
       return Status();
     }},
    {"--peer", true, is_slow,
     [](const std::string& value, Reading& into) {
       into.request.fault.peer = value;
       return Status();
     }},
};

Result<const Action*> find_action(const std::string& word) {
  std::vector<std::string> known;
  for (const Action& action : kActions) {
    if (action.name == word) return &action;
    known.emplace_back(action.name);
  }
  return usage_error("unknown lab command " + quoted(word) + did_you_mean(word, known));
}

Result<const Option*> find_option(const std::string& word, const Action& action) {
  std::vector<std::string> known;
  for (const Option& option : kOptions) {
    if (!option.belongs_to(action.action)) continue;
    if (option.name == word) return &option;
    known.emplace_back(option.name);
  }
  return usage_error("'lab " + std::string(action.name) + "' has no option " + quoted(word) +
                     did_you_mean(word, known));
}

/// Takes the words from the front of `arguments`; "--name value" and "--name=value" are the same.
Status take_option(const Action& action, std::span<const std::string>& arguments, Reading& into) {
  const std::string word = arguments.front();
  arguments = arguments.subspan(1);
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string name = word.substr(0, equals);
  PACELINE_TRY_ASSIGN(const Option* const option, find_option(name, action));
  std::string value;
  if (equals < word.size()) {
    if (!option->has_value) return usage_error(name + " takes no value");
    value = word.substr(equals + 1);
  } else if (option->has_value) {
    if (arguments.empty()) return usage_error(name + " needs a value");
    value = arguments.front();
    arguments = arguments.subspan(1);
  }
  return option->take(value, into).with_context(name);
}

Status take_rails(Reading& reading) {
  std::vector<std::int64_t>& rates = reading.request.plan.rates_bits;
  if (reading.second_rate && reading.rails < 2)
    return usage_error("--rate2 is for the second network; add --rails 2");
  rates.resize(static_cast<std::size_t>(reading.rails), reading.second_rate.value_or(rates[0]));
  return Status();
}

Status take_words(const Action& action, Reading& reading) {
  const std::string name = "'lab " + std::string(action.name) + "'";
  const std::vector<std::string>& words = reading.words;
  const std::size_t expected =
      (action.host == HostWord::kNone ? 0u : 1u) + (action.take == nullptr ? 0u : 1u);
  if (action.host == HostWord::kMust && words.empty()) return usage_error(name + " needs a HOST");
  if (action.take != nullptr && words.size() == 1)
    return usage_error(name + " needs " + std::string(action.value) + " after the host");
  if (words.size() > expected)
    return usage_error(name + " does not take " + quoted(words[expected]));
  if (words.empty()) return Status();
  LabFault& fault = reading.request.fault;
  if (words[0] != "all") fault.host = words[0];
  if (action.take == nullptr) return Status();
  return action.take(words[1], fault).with_context(std::string(action.name));
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && word != "--";
}

// The first word that is no option is the host. Options may also follow the host; the program
// begins after them.
Status take_command(const Action& action, std::span<const std::string> rest, Reading& into) {
  if (rest.empty() || rest.front() == "--") return usage_error("'lab exec' needs a HOST");
  into.request.host = rest.front();
  rest = rest.subspan(1);
  while (!rest.empty() && is_option(rest.front())) PACELINE_TRY(take_option(action, rest, into));
  if (!rest.empty() && rest.front() == "--") rest = rest.subspan(1);
  if (rest.empty()) return usage_error("'lab exec' needs a program after the host");
  into.request.command.assign(rest.begin(), rest.end());
  return Status();
}

}  // namespace

Result<LabRequest> parse_lab(std::span<const std::string> arguments) {
  if (arguments.empty()) return usage_error("'lab' needs a command: up, list, down or another");
  PACELINE_TRY_ASSIGN(const Action* const action, find_action(arguments.front()));
  Reading reading;
  reading.request.action = action->action;
  arguments = arguments.subspan(1);
  const bool is_exec = action->action == LabAction::kExec;
  while (!arguments.empty()) {
    if (is_option(arguments.front())) {
      PACELINE_TRY(take_option(*action, arguments, reading));
    } else if (is_exec) {
      break;
    } else {
      reading.words.push_back(arguments.front());
      arguments = arguments.subspan(1);
    }
  }
  PACELINE_TRY(take_rails(reading));
  PACELINE_TRY(is_exec ? take_command(*action, arguments, reading) : take_words(*action, reading));
  const LabFault& fault = reading.request.fault;
  if (!fault.peer.empty() && (fault.host.empty() || fault.host == fault.peer))
    return usage_error("--peer must name another host, and needs one HOST");
  if (!fault.egress && !fault.ingress)
    return usage_error(
        "--egress and --ingress exclude each other; leave out both for both directions");
  return reading.request;
}

bool lab_asks_for_help(std::span<const std::string> arguments) {
  if (arguments.empty()) return true;
  const bool is_exec = arguments.front() == "exec";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") return true;
    if (!is_exec || i == 0) continue;
    if (word == "--name") {
      ++i;  // its value
    } else if (!is_option(word)) {
      return false;
    }
  }
  return false;
}

std::string lab_help() { return std::string(kHelp); }

}  // namespace paceline::launcher
