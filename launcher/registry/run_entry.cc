#include "launcher/registry/run_entry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

// Limits of the numbers of a block.
constexpr double kLeastBlockS = 1e-9, kMostBlockS = 1e9;
constexpr double kLeastSteps = 1e-9, kMostSteps = 1e15, kMostSamples = 1e18;

struct EvidenceField {
  const char* name;
  double RankEvidence::*field;
};
constexpr EvidenceField kEvidence[] = {{"waited_for", &RankEvidence::waited_for},
                                       {"compute", &RankEvidence::compute},
                                       {"input", &RankEvidence::input},
                                       {"other", &RankEvidence::other},
                                       {"running", &RankEvidence::running},
                                       {"queued", &RankEvidence::queued},
                                       {"throttled", &RankEvidence::throttled},
                                       {"stopped", &RankEvidence::stopped},
                                       {"blocked", &RankEvidence::blocked},
                                       {"major_faults_per_s", &RankEvidence::major_faults_per_s},
                                       {"resident_kib", &RankEvidence::resident_kib}};

std::optional<OperationKind> kind_named(const std::string& wanted) {
  const auto found =
      std::ranges::find(kOperationKinds, wanted, [](OperationKind kind) { return name(kind); });
  if (found == std::end(kOperationKinds)) return std::nullopt;
  return *found;
}

Json json_of(const LinkSummary& link) {
  return {{"from", link.from},
          {"to", link.to},
          {"bytes", link.bytes},
          {"resent_bytes", link.resent_bytes},
          {"busy_seconds", link.busy_seconds}};
}

LinkSummary link_of(const Json& json) {
  return {.from = json.at("from"),
          .to = json.at("to"),
          .bytes = json.at("bytes"),
          .resent_bytes = json.at("resent_bytes"),
          .busy_seconds = json.at("busy_seconds")};
}

// JSON has no other numbers: null would lose the whole run.
void make_finite(Json& json) {
  if (json.is_number_float() && !std::isfinite(json.get<double>())) json = 0.0;
  if (json.is_structured())
    for (Json& one : json) make_finite(one);
}

// Short numbers keep the line short.
double five_digits(double number) {
  char text[32];
  const auto end =
      std::to_chars(std::begin(text), std::end(text), number, std::chars_format::general, 5);
  std::from_chars(std::begin(text), end.ptr, number);
  return number;
}

template <class Kind, std::size_t kCount>
void put_figures(const Figures<Kind, kCount>& figures, Json& json) {
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (const auto value = figures.get(kind))
      json[std::string(row_of(kind).name)] =
          row_of(kind).kept == Kept::kBits ? *value : five_digits(*value);
  }
}

template <class Kind, std::size_t kCount>
void take_figures(const Json& json, Figures<Kind, kCount>& figures) {
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto kind = static_cast<Kind>(i);
    const auto value = json.find(std::string(row_of(kind).name));
    if (value != json.end() && value->is_number()) figures.set(kind, value->get<double>());
  }
}

constexpr const char* kClockError = "clock_error_seconds";

Json json_of(const HostSummary& host) {
  Json json{{"host", host.host}};
  put_figures(host.figures, json);
  if (host.clock_error_s) json[kClockError] = five_digits(*host.clock_error_s);
  for (const GpuReading& one : host.gpus) {
    Json gpu{{"number", one.number}, {"name", one.name}};
    put_figures(one.figures, gpu);
    json["gpus"].push_back(std::move(gpu));
  }
  return json;
}

HostSummary host_of(const Json& json) {
  HostSummary host{.host = json.at("host"), .figures = {}, .gpus = {}};
  take_figures(json, host.figures);
  if (json.contains(kClockError)) host.clock_error_s = json.at(kClockError).get<double>();
  for (const Json& one : json.value("gpus", Json::array())) {
    GpuReading& gpu = host.gpus.emplace_back();
    gpu.number = one.at("number");
    gpu.name = one.at("name");
    take_figures(one, gpu.figures);
  }
  return host;
}

// A list for each number of a block: short, and easy to plot.
Json json_of(const std::vector<StepBlock>& blocks) {
  Json json;
  for (const StepBlock& block : blocks) {
    json["steps"].push_back(five_digits(block.steps));
    json["samples"].push_back(five_digits(block.samples));
    for (std::size_t i = 0; i < kStepParts; ++i)
      json[std::string(name(static_cast<StepPart>(i)))].push_back(five_digits(block.parts[i]));
  }
  return json;
}

bool is_between(double number, double least, double most) {
  return number >= least && number <= most;
}

// Blocks that cannot be are left out.
std::vector<StepBlock> blocks_of(const Json& json) {
  std::vector<StepBlock> blocks;
  const Json& steps = json.at("steps");
  for (std::size_t i = 0; i < std::min(steps.size(), kMostRecordedBlocks); ++i) {
    StepBlock block{.steps = steps.at(i), .samples = json.at("samples").at(i)};
    for (std::size_t part = 0; part < kStepParts; ++part)
      block.parts[part] = json.at(std::string(name(static_cast<StepPart>(part)))).at(i);
    const bool is_negative = std::ranges::any_of(block.parts, [](double part) { return part < 0; });
    const bool can_be = is_between(block.steps, kLeastSteps, kMostSteps) &&
                        is_between(block.samples, 0, kMostSamples) && !is_negative &&
                        is_between(block.seconds(), kLeastBlockS, kMostBlockS);
    if (can_be) blocks.push_back(block);
  }
  return blocks;
}

Json json_of(const RunFigures& figures) {
  Json operations = Json::array();
  for (const OperationSummary& one : figures.operations)
    operations.push_back({{"group", one.group},
                          {"ranks", one.ranks},
                          {"kind", name(one.kind)},
                          {"count", one.count},
                          {"bytes", one.bytes},
                          {"seconds", one.seconds},
                          {"exposed_seconds", one.exposed_seconds}});
  Json waited_for = Json::array();
  for (const WaitedFor& one : figures.waited_for)
    waited_for.push_back(
        {{"rank", one.rank}, {"host", one.host}, {"share", one.share}, {"cause", one.cause}});
  Json links = Json::array(), slow_links = Json::array();
  for (const LinkSummary& one : figures.links) links.push_back(json_of(one));
  for (const SlowLink& one : figures.slow_links) {
    slow_links.push_back(json_of(one.link));
    slow_links.back()["usual_rate"] = one.usual;
  }
  Json ranks = Json::array();
  for (const RankEvidence& one : figures.ranks) {
    Json rank;
    for (const auto& [key, field] : kEvidence) rank[key] = one.*field;
    put_figures(one.figures, rank);
    ranks.push_back(std::move(rank));
  }
  Json json{{"has_steps", figures.has_steps},
            {"steps", figures.steps},
            {"step_seconds", figures.step_seconds},
            {"samples_per_s", figures.samples_per_s},
            {"flop_per_s", figures.flop_per_s},
            {"efficiency", figures.efficiency},
            {"efficiency_is_measured", figures.is_measured},
            {"shares", figures.shares},
            {"operations", std::move(operations)},
            {"waited_for", std::move(waited_for)},
            {"links", std::move(links)},
            {"slow_links", std::move(slow_links)},
            {"ranks", std::move(ranks)}};
  if (figures.peak_flop_per_s > 0) json["peak_flop_per_s"] = figures.peak_flop_per_s;
  if (figures.mfu) json["mfu"] = *figures.mfu;
  for (const HostSummary& one : figures.hosts) json["hosts"].push_back(json_of(one));
  if (figures.repeats_input) json["repeats_input"] = true;
  if (!figures.blocks.empty()) json["blocks"] = json_of(figures.blocks);
  return json;
}

RunFigures figures_of(const Json& json) {
  RunFigures figures{.has_steps = json.at("has_steps"),
                     .repeats_input = json.value("repeats_input", false),
                     .steps = json.at("steps"),
                     .step_seconds = json.at("step_seconds"),
                     .samples_per_s = json.at("samples_per_s"),
                     .flop_per_s = json.at("flop_per_s"),
                     .peak_flop_per_s = json.value("peak_flop_per_s", 0.0),
                     .mfu = {},
                     .efficiency = json.at("efficiency"),
                     .is_measured = json.at("efficiency_is_measured"),
                     .shares = json.at("shares"),
                     .operations = {},
                     .waited_for = {},
                     .links = {},
                     .slow_links = {},
                     .hosts = {},
                     .ranks = {},
                     .blocks = {}};
  if (json.contains("mfu")) figures.mfu = json.at("mfu").get<double>();
  for (const Json& one : json.value("hosts", Json::array())) figures.hosts.push_back(host_of(one));
  if (json.contains("blocks")) figures.blocks = blocks_of(json.at("blocks"));
  for (const Json& one : json.at("operations")) {
    const auto kind = kind_named(one.at("kind"));
    if (!kind) continue;
    figures.operations.push_back({.group = one.at("group"),
                                  .ranks = one.at("ranks"),
                                  .kind = *kind,
                                  .count = one.at("count"),
                                  .bytes = one.at("bytes"),
                                  .seconds = one.at("seconds"),
                                  .exposed_seconds = one.at("exposed_seconds")});
  }
  for (const Json& one : json.at("waited_for"))
    figures.waited_for.push_back({.rank = one.at("rank"),
                                  .host = one.at("host"),
                                  .share = one.at("share"),
                                  .cause = one.at("cause")});
  for (const Json& one : json.value("links", Json::array())) figures.links.push_back(link_of(one));
  for (const Json& one : json.value("slow_links", Json::array()))
    figures.slow_links.push_back({.link = link_of(one), .usual = one.at("usual_rate")});
  for (const Json& one : json.at("ranks")) {
    RankEvidence& rank = figures.ranks.emplace_back();
    for (const auto& [key, field] : kEvidence) rank.*field = one.at(key);
    take_figures(one, rank.figures);
  }
  return figures;
}

}  // namespace

std::string line_of(const RunEntry& run) {
  Json json{{"version", kVersion},        {"id", run.id},
            {"begin_s", run.begin_s},     {"seconds", run.seconds},
            {"exit_code", run.exit_code}, {"ranks", run.ranks},
            {"restarts", run.restarts},   {"hosts", run.hosts},
            {"command", run.command},     {"directory", run.directory}};
  if (run.ablated.is_any()) json["ablated"] = run.ablated.to_text();
  if (run.figures) json["figures"] = json_of(*run.figures);
  make_finite(json);
  // Bytes of a command that are not UTF-8 are replaced.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<RunEntry> parse_run(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  try {
    if (json.at("version") != kVersion) return std::nullopt;
    RunEntry run{.id = json.at("id"),
                 .begin_s = json.at("begin_s"),
                 .seconds = json.at("seconds"),
                 .exit_code = json.at("exit_code"),
                 .ranks = json.at("ranks"),
                 .restarts = json.at("restarts"),
                 .hosts = json.at("hosts"),
                 .command = json.at("command"),
                 .directory = json.at("directory"),
                 .ablated = {},
                 .figures = {}};
    if (json.contains("ablated")) {
      const auto ablated = Ablation::parse(json.at("ablated").get<std::string>());
      if (!ablated) return std::nullopt;
      run.ablated = *ablated;
    }
    if (json.contains("figures")) run.figures = figures_of(json.at("figures"));
    return run;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace paceline::launcher
