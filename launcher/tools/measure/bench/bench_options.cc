// Longer than 400 lines because each option is a row, with its parser.
#include "launcher/tools/measure/bench/bench_options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/tools/measure/bench/contender.h"
#include "launcher/tools/measure/probe/loop/operation.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kUsage =
    "usage: paceline bench OPERATION [options]\n"
    "Measures an operation between ranks of this host, one line per size. The size is\n"
    "that of a rank's longest array. Arrays with a block per rank have whole blocks.\n"
    "OPERATION is all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, reduce, gather,\n"
    "scatter, barrier, send or exchange. send is from rank 0 to rank 1. In an exchange each rank\n"
    "sends to the next and receives from the previous one.\n"
    "`paceline bench gradient` (with its own --help) replays training steps on any hosts.\n";
constexpr std::string_view kAfter =
    "\n"
    "  time      last end - first begin over all ranks, after a common start\n"
    "  algbw     bytes / time\n"
    "  busbw     algbw times the factor of nccl-tests: 2(n-1)/n for all_reduce, 1 for broadcast,\n"
    "            reduce, send, exchange and barrier, (n-1)/n for the others\n"
    "  of limit  time that flags and copies need in the same run, / p50; noise can exceed 100 %\n"
    "\n"
    "Examples:\n"
    "  paceline bench all_reduce --bytes 1M:64M --check\n"
    "  paceline bench all_reduce --against openmpi,mpich --bytes 4:1K --json ratios.jsonl\n"
    "  paceline bench all_reduce -n 4 --against reduce+broadcast --bytes 4:64K:8\n"
    "  paceline bench all_reduce --memory device --against PACELINE_NCCL=0\n"
    "\n"
    "Exit code: 0 for success. 1: wrong results. 124: a run did not end. 125: paceline itself\n"
    "failed. Else the code of the rank that failed, as in `paceline run`.\n";

constexpr std::size_t kNamesWidth = 22;  // of the help

enum class Needs { kNothing, kElements, kReduction, kRoot, kPlace };

struct Option {
  std::string_view name;
  std::string_view form;  // of its value; empty: it takes none
  std::string_view group;
  std::string_view meaning;
  Needs needs = Needs::kNothing;
  Status (*take)(const std::string& value, BenchRequest& into) = nullptr;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string list(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

Status not_one_of(const std::string& value, std::span<const std::string> words) {
  return usage_error("'" + value + "' is not " + list(words) + did_you_mean(value, words));
}

template <class T>
std::vector<std::string> names_of(std::span<const T> values) {
  std::vector<std::string> names;
  for (const T value : values) names.emplace_back(name(value));
  return names;
}

template <class T>
Status take_name(const std::string& value, std::span<const T> all, T& into) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](T one) { return name(one) == value; });
  if (found == all.end()) return not_one_of(value, names_of(all));
  into = *found;
  return Status();
}

// One of two words; `second` is what makes `into` true.
Status take_choice(const std::string& value, const std::array<std::string, 2>& words, bool& into) {
  if (value != words[0] && value != words[1]) return not_one_of(value, words);
  into = value == words[1];
  return Status();
}

Status take_ranks(const std::string& value, BenchRequest& into) {
  PACELINE_TRY_ASSIGN(into.ranks, parse_count(value));
  return Status();
}

Status take_bytes(const std::string& value, BenchRequest& into) {
  const std::vector<std::string> parts = split(value, ':');
  if (parts.size() > 3) return usage_error("'" + value + "' is not LOW:HIGH, or LOW:HIGH:FACTOR");
  probe::Orders& orders = into.orders;
  PACELINE_TRY_ASSIGN(orders.low_bytes, parse_size(parts.front()));
  orders.high_bytes = orders.low_bytes;
  if (parts.size() > 1) {
    PACELINE_TRY_ASSIGN(orders.high_bytes, parse_size(parts[1]));
  }
  if (orders.high_bytes < orders.low_bytes)
    return usage_error("'" + value + "' ends below its beginning; write " + parts[1] + ":" +
                       parts[0]);
  if (parts.size() < 3) return Status();
  const auto factor = parse_number<std::size_t>(parts[2]);
  if (!factor || *factor < 2)
    return usage_error("the factor '" + parts[2] + "' is not a whole number of 2 or more");
  orders.factor = *factor;
  return Status();
}

Status take_root(const std::string& value, BenchRequest& into) {
  const auto root = parse_number<int>(value);
  if (!root || *root < 0) return usage_error("'" + value + "' is not a rank");
  into.orders.root = *root;
  return Status();
}

Status take_time(const std::string& value, BenchRequest& into) {
  const auto time = parse_number<int>(value);
  if (!time || *time < 1 || *time > 600'000)
    return usage_error("'" + value + "' is not a whole number of milliseconds from 1 to 600000");
  into.orders.time_ms = *time;
  into.limits_time = true;
  return Status();
}

Status take_backend(const std::string& value, BenchRequest& into) {
  const std::array<std::string, 4> words{"auto", "shm", "tcp", "raw"};
  if (std::find(words.begin(), words.end(), value) == words.end()) return not_one_of(value, words);
  into.backend = value;
  return Status();
}

Status take_against(const std::string& value, BenchRequest& into) {
  into.against.clear();
  const std::vector<std::string> known = contender_names();
  for (const std::string& name : split(value, ',')) {
    const bool is_folder = name.find('/') != name.npos;
    if (is_setting(name)) {
      PACELINE_TRY(check_setting(name));
    } else if (!is_folder && std::find(known.begin(), known.end(), name) == known.end()) {
      return not_one_of(name, known);
    }
    if (std::find(into.against.begin(), into.against.end(), name) != into.against.end())
      return usage_error("'" + name + "' occurs twice");
    into.against.push_back(name);
  }
  return Status();
}

Status take_pairs(const std::string& value, BenchRequest& into) {
  const auto pairs = parse_number<int>(value);
  if (!pairs || *pairs < 1 || *pairs > 10'000)
    return usage_error("'" + value + "' is not a whole number from 1 to 10000");
  into.pairs = *pairs;
  return Status();
}

constexpr Option kOptions[] = {
    {"-n", "N", "Ranks", "Number of ranks (default 2); also -np, --np", Needs::kNothing,
     take_ranks},
    {"--backend", "NAME", "Ranks", "auto (default), shm, tcp, or raw: a loop without the library",
     Needs::kNothing, take_backend},
    {"--bytes", "LOW:HIGH[:F]", "Messages",
     "Sizes, each F times the previous one (default 4:256M:2)", Needs::kElements, take_bytes},
    {"--type", "TYPE", "Messages",
     "float16/32/64, bfloat16, int8/32/64, uint8/64 (default float32)", Needs::kElements,
     [](const std::string& value, BenchRequest& into) {
       return take_name<DataType>(value, kDataTypes, into.orders.type);
     }},
    {"--op", "OP", "Messages", "sum, avg, prod, min, max or premul_sum (default sum)",
     Needs::kReduction,
     [](const std::string& value, BenchRequest& into) {
       return take_name<ReduceOp>(value, kReduceOps, into.orders.op);
     }},
    {"--root", "K", "Messages", "Rank that sends or receives the elements (default 0)",
     Needs::kRoot, take_root},
    {"--inplace", "yes|no", "Messages",
     "Input and output share memory (default yes; reduce_scatter against MPI: no)", Needs::kPlace,
     [](const std::string& value, BenchRequest& into) {
       return take_choice(value, {"no", "yes"}, into.orders.in_place);
     }},
    {"--buffers", "KIND", "Messages",
     "registered (ranks access each other's arrays), or ordinary (default)", Needs::kElements,
     [](const std::string& value, BenchRequest& into) {
       return take_choice(value, {"ordinary", "registered"}, into.orders.registered);
     }},
    {"--memory", "host|device", "Messages",
     "device: arrays in the memory of GPUs, rank R on GPU R (default host)", Needs::kElements,
     [](const std::string& value, BenchRequest& into) {
       return take_choice(value, {"host", "device"}, into.orders.on_gpu);
     }},
    {"--cache", "warm|cold", "Measurement",
     "cold: empty the caches before each call (default warm)", Needs::kNothing,
     [](const std::string& value, BenchRequest& into) {
       return take_choice(value, {"warm", "cold"}, into.orders.cold);
     }},
    {"--check", "", "Measurement", "Compare every result with the expected one", Needs::kElements,
     [](const std::string&, BenchRequest& into) {
       into.orders.check = true;
       return Status();
     }},
    {"--time", "MS", "Measurement", "Time per size (default 300, with --against 10); min 5 samples",
     Needs::kNothing, take_time},
    {"--against", "LIST", "Peers",
     "Peers that take turns with this build: openmpi, openmpi-1m, mpich, gloo,\n"
     "                        raw, ./FOLDER (another build), PACELINE_NAME=VALUE (this build\n"
     "                        with a variable), reduce+broadcast or reduce_scatter+all_gather",
     Needs::kNothing, take_against},
    {"--pairs", "K", "Peers", "Number of turns of each (default 21)", Needs::kNothing, take_pairs},
    {"--json", "FILE", "Output", "Also write one line of JSON per size", Needs::kNothing,
     [](const std::string& value, BenchRequest& into) {
       into.json_file = value;
       return Status();
     }},
    {"--help", "", "Output", "This page; also -h", Needs::kNothing, nullptr},
};

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const Option& option : kOptions) names.emplace_back(option.name);
  return names;
}

// A word that begins with a dash, cut into option and value.
struct OptionWord {
  std::string name;
  std::optional<std::string> value;
};

OptionWord cut(const std::string& word) {
  const std::size_t equals = word.find('=');
  OptionWord cut{.name = word.substr(0, equals), .value = std::nullopt};
  if (equals != std::string::npos) cut.value = word.substr(equals + 1);
  for (const std::string_view prefix : {"--np", "-np", "-n"}) {
    if (!cut.name.starts_with(prefix)) continue;
    const std::string rest = cut.name.substr(prefix.size());
    if (!rest.empty() && rest.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!rest.empty()) cut.value = rest;
    cut.name = "-n";
    break;
  }
  return cut;
}

bool has(const probe::Operation& operation, Needs needs) {
  switch (needs) {
    case Needs::kNothing:
      return true;
    case Needs::kElements:
      return operation.has_arrays();
    case Needs::kReduction:
      return reduces(operation.kind);
    case Needs::kRoot:
      return has_root(operation.kind);
    case Needs::kPlace:
      return operation.has_place();
  }
  return true;
}

using Given = std::vector<const Option*>;

// Moves `at` behind the option and its value.
Status take_option(std::span<const std::string> words, std::size_t& at, BenchRequest& into,
                   Given& given) {
  OptionWord word = cut(words[at]);
  const auto* const option =
      std::find_if(std::begin(kOptions), std::end(kOptions),
                   [&](const Option& candidate) { return candidate.name == word.name; });
  if (option == std::end(kOptions) || option->take == nullptr)
    return usage_error("'" + words[at] + "' is not an option of paceline bench" +
                       did_you_mean(word.name, option_names()));
  ++at;
  if (option->form.empty() && word.value)
    return usage_error("option " + word.name + " takes no value");
  if (!option->form.empty() && !word.value && at < words.size() && !words[at].starts_with("--"))
    word.value = words[at++];
  if (!option->form.empty() && word.value.value_or("").empty())
    return usage_error("option " + word.name + " needs a value: " + std::string(option->form));
  given.push_back(option);
  const Status taken = option->take(word.value.value_or(""), into);
  return taken.ok() ? taken : usage_error(word.name + ": " + taken.text());
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const probe::Operation& operation : probe::operations())
    names.emplace_back(operation.name());
  return names;
}

bool contains(const Given& given, std::string_view name) {
  return std::ranges::any_of(given, [name](const Option* option) { return option->name == name; });
}

// MPI leaves the result of a reduce-scatter in place elsewhere than the others do.
bool is_refused_in_place(const BenchRequest& request) {
  return probe::find_operation(request.orders.operation)->kind == OperationKind::kReduceScatter &&
         std::ranges::any_of(request.against, is_mpi);
}

// GPU memory excludes options that are about host memory.
Status check_on_gpu(const BenchRequest& request) {
  const auto refused = [](const std::string& what) {
    return usage_error("--memory device: " + what);
  };
  if (request.orders.registered) return refused("--buffers registered is memory of the host");
  if (request.orders.cold) return refused("--cache cold empties caches of the CPU");
  if (!request.backend.empty())
    return refused("leave out --backend; PACELINE_NCCL=0 turns NCCL off");
  if (request.orders.check && request.orders.op == ReduceOp::kAvg)
    return refused("--check compares bits, but NCCL rounds averages in another way; use --op sum");
  for (const std::string& name : request.against)
    if (name == "raw" || is_peer(name)) return refused("'" + name + "' is measured in host memory");
  return Status();
}

// What no option can judge alone.
Status check_together(const BenchRequest& request, const Given& given) {
  const probe::Operation& operation = *probe::find_operation(request.orders.operation);
  for (const Option* option : given)
    if (!has(operation, option->needs))
      return usage_error(std::string(option->name) + " has no effect on " +
                         std::string(operation.name()));
  if (request.orders.root >= request.ranks)
    return usage_error("--root: there is no rank " + std::to_string(request.orders.root) +
                       "; the number of ranks is " + std::to_string(request.ranks));
  if (request.orders.sizes().empty())
    return usage_error("--bytes: no size from " + std::to_string(request.orders.low_bytes) +
                       " to " + std::to_string(request.orders.high_bytes) + " holds one " +
                       std::string(name(request.orders.type)) + " of " +
                       std::to_string(size_of(request.orders.type)) + " bytes");
  for (const std::string& name : request.against)
    if (is_in_parts(name) && operation.kind != OperationKind::kAllReduce)
      return usage_error("--against " + name + ": these are parts of all_reduce, not of " +
                         std::string(operation.name()));
  if (contains(given, "--inplace") && request.orders.in_place && is_refused_in_place(request))
    return usage_error("--inplace yes: MPI leaves the result elsewhere; use --inplace no");
  if (contains(given, "--pairs") && request.against.empty())
    return usage_error("--pairs needs --against: it is the number of turns of each");
  return request.orders.on_gpu ? check_on_gpu(request) : Status();
}

}  // namespace

Result<std::size_t> parse_size(const std::string& text) {
  constexpr std::string_view kSuffixes = "KMG";
  constexpr std::size_t kMost = std::size_t{1} << 40;
  std::string_view number = text;
  std::size_t unit = 1;
  const std::size_t suffix = text.empty() ? kSuffixes.npos : kSuffixes.find(text.back());
  if (suffix != kSuffixes.npos) {
    unit = std::size_t{1} << (10 * (suffix + 1));
    number.remove_suffix(1);
  }
  const auto size = parse_number<std::size_t>(number);
  if (size && *size > 0 && *size <= kMost / unit) return *size * unit;
  return usage_error("'" + text + "' is not a size such as 4, 64K, 256M or 1G");
}

Result<BenchRequest> parse_bench(std::span<const std::string> arguments) {
  BenchRequest request;
  request.orders.operation.clear();
  Given given;
  for (std::size_t at = 0; at < arguments.size();) {
    if (arguments[at].starts_with("-")) {
      PACELINE_TRY(take_option(arguments, at, request, given));
      continue;
    }
    const std::string& word = arguments[at++];
    if (!request.orders.operation.empty())
      return usage_error("'" + word + "' is a second operation; bench takes one");
    if (probe::find_operation(word) == nullptr)
      return usage_error("unknown operation '" + word + "'" +
                         did_you_mean(word, operation_names()) + "\nKnown are " +
                         list(operation_names()));
    request.orders.operation = word;
  }
  if (request.orders.operation.empty())
    return usage_error("'bench' needs an operation: " + list(operation_names()) +
                       "; for example: paceline bench all_reduce");
  PACELINE_TRY(check_together(request, given));
  if (!contains(given, "--inplace") && is_refused_in_place(request))
    request.orders.in_place = false;
  if (!request.against.empty() && !request.limits_time) request.orders.time_ms = 10;
  if (request.orders.on_gpu) request.orders.limits = false;  // those are of the host's memory
  return request;
}

std::string bench_help() {
  std::string text(kUsage);
  std::string_view group;
  for (const Option& option : kOptions) {
    if (option.group != group) text.append("\n").append(option.group).append(":\n");
    group = option.group;
    std::string names = std::string(option.name) + " " + std::string(option.form);
    names.resize(std::max(names.size(), kNamesWidth), ' ');
    text.append("  ").append(names).append(option.meaning).append("\n");
  }
  return text + std::string(kAfter);
}

}  // namespace paceline::launcher
