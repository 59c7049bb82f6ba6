#include "launcher/tools/measure/bench/gradient/gradient_options.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <paceline/gradient_pipeline.h>

#include "comm/base/cgroup.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/options/plain_options.h"
#include "launcher/options/run_options.h"
#include "launcher/tools/measure/probe/gradient/trace.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kHelp =
    "usage: paceline bench gradient [--trace NAME] [options]\n"
    "Measures the part of gradient communication that is hidden behind backward. Each rank\n"
    "replays the steps of a real model. Compute is replayed as time only: a third forward, two\n"
    "thirds backward, divided by the work of layers. There are as many gradients as in the model,\n"
    "with the same sizes. They become ready in reverse order, and are averaged over all ranks.\n"
    "\n"
    "Model\n"
    "  --trace NAME           resnet50 (default), bert or gpt2\n"
    "  --scale X              Multiply the length of gradients by X, 0 < X <= 1 (default 1)\n"
    "  --compute KIND         sleep (default): like on a GPU; burn: a fixed amount of work on the\n"
    "                         rank's core, which competes with communication\n"
    "  --compute-ratio X      Compute time of a step divided by the time of its gradients on the\n"
    "                         wire (default 1)\n"
    "  --compute-ms X         Compute time of a step, instead of --compute-ratio\n"
    "Contenders\n"
    "  --codec NAME           none (default), bf16, fp16, int8, topk, powersgd or auto\n"
    "  --against LIST         none: one operation after backward, without overlap; ddp: PyTorch's\n"
    "                         DistributedDataParallel with gloo and its buckets of 25 MB;\n"
    "                         paceline:CODEC: the pipeline with another codec\n"
    "  --measure NAME         Contender that the others are compared with (default paceline)\n"
    "  --pairs K              Number of turns of each contender (default 5)\n"
    "  --steps K              Steps per turn (default 5), after warm-up steps\n"
    "Ranks (options of `paceline run`; default: one on each host, or 2 on this host)\n"
    "  -n N, -N N, -H A,B, --hostfile FILE, --engine NAME, --launch-agent CMD, --ssh-args ARGS,\n"
    "  --agent-path FILE, --map-by, --bind-to, --rank-by, --plan FILE, -x VAR[=VALUE]\n"
    "Output\n"
    "  --json FILE            Also write lines of JSON\n"
    "  -h, --help             This page\n"
    "\n"
    "Columns. Each is the median over steps of the largest value of all ranks:\n"
    "  step      time of a step, from a common start\n"
    "  compute   time until the end of backward\n"
    "  exposed   time after the last rank has finished backward\n"
    "  sent      bytes that the pipeline of a rank sends\n"
    "  cpu       CPU time of a rank's process\n"
    "  own cpu   the part of it that the pipeline uses\n"
    "  of bound  bound divided by exposed\n"
    "  x ours    time of another contender divided by ours; the 10th percentile is over turns\n"
    "\n"
    "The bound is the exposed time of the best schedule without a codec. Take the time when a\n"
    "gradient is ready, plus the wire time of all gradients that are ready then or later. The\n"
    "bound is the maximum over all gradients. It uses the best speed of the wire, measured\n"
    "before the first turn. The speed of the wire in turn with the contenders is printed, too.\n"
    "\n"
    "Examples:\n"
    "  paceline bench gradient --trace bert --hostfile hosts --against ddp,none\n"
    "  paceline bench gradient --compute burn --compute-ms 400 --against none --pairs 9\n"
    "  paceline bench gradient --codec auto --against paceline:none -H node[01-04] --json g.jsonl\n"
    "\n"
    "Exit code:\n"
    "  0    success\n"
    "  1    wrong averages\n"
    "  125  paceline itself or a job failed\n";

constexpr PlainOption kOptions[] = {
    {"--trace", true},
    {"--scale", true},
    {"--compute", true},
    {"--compute-ms", true},
    {"--compute-ratio", true},
    {"--codec", true},
    {"--against", true},
    {"--measure", true},
    {"--pairs", true},
    {"--steps", true},
    {"--json", true},
    {"-n", true},
    {"-np", true},
    {"--np", true},
    {"-N", true},
    {"--ppn", true},
    {"-H", true},
    {"--host", true},
    {"--hostfile", true},
    {"--engine", true},
    {"--launch-agent", true},
    {"--ssh-args", true},
    {"--agent-path", true},
    {"--map-by", true},
    {"--bind-to", true},
    {"--rank-by", true},
    {"--plan", true},
    {"-x", true},
    {"--env", true},
};
constexpr PlainCommand kCommand{
    .name = "bench gradient", .options = kOptions, .hint = "use --trace for a model"};

constexpr std::string_view kOwnCodec = "paceline:";
constexpr double kMostMs = 3'600'000, kMostRatio = 1000;
constexpr int kMostTimes = 10'000;

std::vector<std::string> codec_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kCodecs; ++i) names.emplace_back(name(static_cast<Codec>(i)));
  return names;
}

Status none_of(const std::string& value, const std::vector<std::string>& known) {
  return usage_error("'" + value + "' is not one of " + list_text(known) +
                     did_you_mean(value, known));
}

Status take_word(const std::string& value, const std::vector<std::string>& known,
                 std::string& into) {
  if (std::find(known.begin(), known.end(), value) == known.end()) return none_of(value, known);
  into = value;
  return Status();
}

Status take_positive(const std::string& value, double most, double& into) {
  const auto number = parse_number<double>(value);
  if (!number || !(*number > 0) || *number > most)
    return usage_error("'" + value + "' is not a number above 0 and up to " +
                       std::to_string(std::lround(most)));
  into = *number;
  return Status();
}

Status take_times(const std::string& value, int& into) {
  const auto number = parse_number<int>(value);
  if (!number || *number < 1 || *number > kMostTimes)
    return usage_error("'" + value + "' is not a whole number from 1 to " +
                       std::to_string(kMostTimes));
  into = *number;
  return Status();
}

Status check_contender(const std::string& name) {
  if (!name.starts_with(kOwnCodec)) {
    std::string known;
    return take_word(name, gradient_contender_names(), known);
  }
  std::string codec;
  return take_word(name.substr(kOwnCodec.size()), codec_names(), codec);
}

Status take_against(const std::string& value, std::vector<std::string>& into) {
  into.clear();
  for (const std::string_view word : split_words(value, ',')) {
    const std::string name(word);
    PACELINE_TRY(check_contender(name));
    if (std::find(into.begin(), into.end(), name) != into.end())
      return usage_error("'" + name + "' occurs twice");
    into.push_back(name);
  }
  return into.empty() ? usage_error("'" + value + "' names no contender") : Status();
}

struct Taker {
  std::string_view name;
  Status (*take)(const std::string& value, GradientRequest& into);
};
constexpr Taker kTakers[] = {
    {"--trace",
     [](const std::string& value, GradientRequest& into) {
       return take_word(value, probe::trace_names(), into.trace);
     }},
    {"--scale", [](const std::string& value,
                   GradientRequest& into) { return take_positive(value, 1, into.scale); }},
    {"--compute",
     [](const std::string& value, GradientRequest& into) {
       std::string kind;
       PACELINE_TRY(take_word(value, {"sleep", "burn"}, kind));
       into.burns = kind == "burn";
       return Status();
     }},
    {"--compute-ms",
     [](const std::string& value, GradientRequest& into) {
       return take_positive(value, kMostMs, into.compute_ms.emplace());
     }},
    {"--compute-ratio",
     [](const std::string& value, GradientRequest& into) {
       return take_positive(value, kMostRatio, into.compute_ratio);
     }},
    {"--codec", [](const std::string& value,
                   GradientRequest& into) { return take_word(value, codec_names(), into.codec); }},
    {"--against", [](const std::string& value,
                     GradientRequest& into) { return take_against(value, into.against); }},
    {"--measure",
     [](const std::string& value, GradientRequest& into) {
       into.measure = value;
       return check_contender(value);
     }},
    {"--pairs",
     [](const std::string& value, GradientRequest& into) { return take_times(value, into.pairs); }},
    {"--steps",
     [](const std::string& value, GradientRequest& into) { return take_times(value, into.steps); }},
    {"--json",
     [](const std::string& value, GradientRequest& into) {
       into.json_file = value;
       return Status();
     }},
};

// Options that are none of bench's own go to `job_words`: `paceline run` has them.
Status take(const GivenOption& option, GradientRequest& into, std::vector<std::string>& job_words) {
  if (option.name == "-n" || option.name == "-np" || option.name == "--np") {
    const Result<int> ranks = parse_count(option.value);
    if (!ranks.ok()) return ranks.status().with_context(option.name);
    into.ranks = *ranks;
    return Status();
  }
  const auto* const taker = std::ranges::find(kTakers, option.name, &Taker::name);
  if (taker == std::end(kTakers)) {
    job_words.insert(job_words.end(), {option.name, option.value});
    return Status();
  }
  return taker->take(option.value, into).with_context(option.name);
}

Status check_together(const GradientRequest& request, std::span<const GivenOption> given) {
  const auto has = [given](std::string_view name) {
    return std::ranges::find(given, name, &GivenOption::name) != given.end();
  };
  if (has("--compute-ms") && has("--compute-ratio"))
    return usage_error(
        "--compute-ms and --compute-ratio both set the compute time; use one of them");
  if (has("--codec") && request.measure != kPipeline)
    return usage_error("--codec applies to the pipeline only, but --measure is '" +
                       request.measure + "'");
  if (std::ranges::find(request.against, request.measure) != request.against.end())
    return usage_error("--against: '" + request.measure + "' is compared with itself");
  if (request.ranks == 1)
    return usage_error("-n: one rank has no communication; use 2 ranks or more");
  return Status();
}

}  // namespace

Result<GradientRequest> parse_gradient_bench(std::span<const std::string> arguments) {
  GradientRequest request;
  PACELINE_TRY_ASSIGN(const std::vector<GivenOption> given, given_options(kCommand, arguments));
  std::vector<std::string> job_words;
  for (const GivenOption& option : given) PACELINE_TRY(take(option, request, job_words));
  PACELINE_TRY(check_together(request, given));
  PACELINE_TRY_ASSIGN(request.job, parse_job_options(job_words));
  return request;
}

std::string gradient_bench_help() { return std::string(kHelp); }

std::vector<std::string> gradient_contender_names() {
  return {std::string(kPipeline), "none", "ddp"};
}

}  // namespace paceline::launcher
