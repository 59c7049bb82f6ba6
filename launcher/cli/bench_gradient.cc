// paceline bench gradient: how much of the time that gradients take between ranks is hidden behind
// backward.
#include "launcher/cli/bench_gradient.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/system/complain.h"
#include "launcher/system/new_file.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/lab_job.h"
#include "launcher/tools/measure/bench/gradient/gradient_options.h"
#include "launcher/tools/measure/bench/gradient/gradient_report.h"
#include "launcher/tools/measure/bench/gradient/gradient_run.h"

namespace paceline::launcher {
namespace {

constexpr int kExitWrong = 1;
// Of averages without a codec: some roundings.
constexpr double kMostError = 1e-6;

struct Bench {
  GradientRequest request;
  probe::Trace trace;
  GradientSite site;
  std::vector<GradientContender> contenders;  // ours first
  std::unique_ptr<NewFile> json;              // none where none was asked for

  double wire_us(const probe::WireRate& wire) const {
    return probe::wire_us(trace.bytes(), site.ranks, wire);
  }
};

Result<Bench> prepare(GradientRequest request) {
  PACELINE_TRY_ASSIGN(const GradientSite site, gradient_site(request));
  std::vector<std::string> names{request.measure};
  names.insert(names.end(), request.against.begin(), request.against.end());
  std::vector<GradientContender> contenders;
  for (const std::string& name : names) {
    PACELINE_TRY_ASSIGN(GradientContender contender, gradient_contender(site, name, request.codec));
    contenders.push_back(std::move(contender));
  }
  probe::Trace trace = probe::scaled(probe::find_trace(request.trace).value(), request.scale);
  Bench bench{.request = std::move(request),
              .trace = std::move(trace),
              .site = site,
              .contenders = std::move(contenders),
              .json = nullptr};
  if (bench.request.json_file.empty()) return bench;
  Result<std::unique_ptr<NewFile>> file = NewFile::make(bench.request.json_file);
  if (!file.ok()) return file.status().with_context("--json");
  bench.json = *std::move(file);
  return bench;
}

GradientProgram wire_program(const Bench& bench, const probe::GradientOrders& orders) {
  return {.name = "the job that measures the wire",
          .path = bench.site.folder + "/paceline-probe",
          .orders = orders};
}

// The wire and a core, once for all contenders, so that all compute as long.
Result<probe::SiteRow> measure_site(const Bench& bench) {
  const GradientProgram program = wire_program(bench, {.task = probe::GradientTask::kMeasure});
  PACELINE_TRY_ASSIGN(
      const std::vector<probe::GradientJob> jobs,
      run_gradient_jobs(bench.site, std::span(&program, 1), 0, [](std::size_t, std::size_t) {}));
  if (!jobs.front().site)
    return Status(Code::kInternal, Scope::kOperation, "the rate of the wire was not reported");
  return *jobs.front().site;
}

void show_progress(const std::string& text) {
  if (::isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r%s\033[K", text.c_str());
}

struct TurnsTaken {
  std::vector<probe::WireRate> wires;
  std::vector<GradientSeries> series;
};

// The wire has its turns as each contender has, in a job of its own: what disturbs it disturbs all.
Result<TurnsTaken> take_turns(const Bench& bench, const GradientTitle& title, double burn_per_us) {
  std::vector<GradientProgram> programs{
      wire_program(bench, {.task = probe::GradientTask::kWire, .turns = bench.request.pairs})};
  for (const GradientContender& contender : bench.contenders) {
    probe::GradientOrders orders = orders_of(bench.request, contender);
    orders.compute_us = title.orders.compute_us;
    orders.burn_per_us = burn_per_us;
    programs.push_back({.name = contender.name, .path = contender.program, .orders = orders});
  }
  const std::size_t all = gradient_turns(programs.size(), bench.request.pairs).size();
  const auto on_turn = [&](std::size_t turn, std::size_t which) {
    show_progress("paceline: turn " + std::to_string(turn + 1) + " of " + std::to_string(all) +
                  ", " + programs[which].name);
  };
  show_progress("paceline: the contenders start");
  Result<std::vector<probe::GradientJob>> jobs = run_gradient_jobs(
      bench.site, programs, title.orders.compute_us + bench.wire_us(title.wire), on_turn);
  show_progress("");
  if (!jobs.ok()) return jobs.status();
  TurnsTaken taken{.wires = std::move(jobs->front().wires), .series = {}};
  for (std::size_t i = 0; i < bench.contenders.size(); ++i)
    taken.series.push_back({.name = bench.contenders[i].name,
                            .codec = bench.contenders[i].codec,
                            .job = std::move((*jobs)[i + 1])});
  return taken;
}

// All lines or none, since they are of one run.
Status write_json(NewFile& file, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(line).append("\n");
  return file.keep(text).with_context("--json");
}

bool is_wrong(const GradientSeries& series) {
  return series.codec == "none" && !(series.error() <= kMostError);
}

Result<int> measure(const Bench& bench) {
  PACELINE_TRY_ASSIGN(const probe::SiteRow site, measure_site(bench));
  GradientTitle title{.trace = bench.trace,
                      .orders = orders_of(bench.request, bench.contenders.front()),
                      .ranks = bench.site.ranks,
                      .wire = site.wire,
                      .wires = {}};
  title.orders.compute_us = bench.request.compute_ms
                                ? 1e3 * *bench.request.compute_ms
                                : bench.request.compute_ratio * bench.wire_us(site.wire);
  PACELINE_TRY_ASSIGN(TurnsTaken taken, take_turns(bench, title, site.burn_per_us));
  title.wires = std::move(taken.wires);
  const std::vector<GradientSeries>& series = taken.series;
  PACELINE_TRY(print_out(gradient_table(title, series)));
  if (bench.json) PACELINE_TRY(write_json(*bench.json, gradient_json(title, series)));
  const auto wrong = std::find_if(series.begin(), series.end(), is_wrong);
  if (wrong == series.end()) return 0;
  complain("averages of " + wrong->name + " are wrong");
  return kExitWrong;
}

}  // namespace

int bench_gradient_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::fputs(gradient_bench_help().c_str(), stdout);
    return 0;
  }
  Result<GradientRequest> request = parse_gradient_bench(arguments);
  if (!request.ok())
    return complain(request.status().text() + "\nTry: paceline bench gradient --help");
  const Result<std::optional<int>> in_lab =
      run_in_lab(request->job, {"bench", "gradient"}, arguments);
  if (!in_lab.ok()) return complain(in_lab.status().text());
  if (*in_lab) return **in_lab;
  const Result<Bench> bench = prepare(*std::move(request));
  if (!bench.ok()) return complain(bench.status().text());
  if (const Status adopting = adopt_orphans(); !adopting.ok()) return complain(adopting.text());
  const Result<int> code = measure(*bench);
  return code.ok() ? *code : complain(code.status().text());
}

}  // namespace paceline::launcher
