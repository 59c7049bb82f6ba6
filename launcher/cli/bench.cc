// paceline bench: how fast an operation is between the ranks of this host, alone or in turn with
// other libraries.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/cli/bench_gradient.h"
#include "launcher/cli/command.h"
#include "launcher/system/complain.h"
#include "launcher/system/exit_status.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"
#include "launcher/tools/measure/bench/bench_options.h"
#include "launcher/tools/measure/bench/bench_report.h"
#include "launcher/tools/measure/bench/bench_run.h"
#include "launcher/tools/measure/bench/contender.h"
#include "launcher/tools/measure/bench/memory_need.h"
#include "launcher/tools/measure/bench/rounds.h"

namespace paceline::launcher {
namespace {

constexpr int kExitWrong = 1;

/// The file of --json, or nothing where none was asked for.
class JsonLines {
 public:
  static Result<JsonLines> open(const std::string& path) {
    JsonLines lines;
    if (path.empty()) return lines;
    lines.file_.reset(std::fopen(path.c_str(), "we"));
    if (!lines.file_) return system_error("write '" + path + "' (--json)");
    return lines;
  }

  // A line each, at once: what was measured stays when a later size fails.
  void write(const std::string& line) const {
    if (!file_) return;
    std::fprintf(file_.get(), "%s\n", line.c_str());
    std::fflush(file_.get());
  }

  bool failed() const { return file_ && std::ferror(file_.get()) != 0; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

struct Bench {
  BenchRequest request;
  BenchSite site;
  Contender ours;
  std::vector<Contender> others;
  JsonLines json;

  BenchTitle title() const {
    return {.operation = *probe::find_operation(request.orders.operation),
            .orders = request.orders,
            .ranks = request.ranks};
  }
};

Result<Bench> prepare(BenchRequest request) {
  PACELINE_TRY_ASSIGN(const BenchSite site, bench_site(request.ranks));
  const int programs = 1 + static_cast<int>(request.against.size());
  PACELINE_TRY(check_memory(request.orders, request.ranks, programs, available_memory()));
  PACELINE_TRY_ASSIGN(Contender ours, own_contender(site, request.backend));
  std::vector<Contender> others;
  for (const std::string& name : request.against) {
    // The loop by hand reads no variable.
    const std::string backend = ours.is_raw ? "" : request.backend;
    const bool is_own = is_setting(name) || is_in_parts(name);
    PACELINE_TRY_ASSIGN(Contender other,
                        is_own ? own_contender(site, backend, name) : other_contender(site, name));
    others.push_back(std::move(other));
  }
  PACELINE_TRY_ASSIGN(JsonLines json, JsonLines::open(request.json_file));
  return Bench{.request = std::move(request),
               .site = site,
               .ours = std::move(ours),
               .others = std::move(others),
               .json = std::move(json)};
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void print_title(const Bench& bench) {
  const probe::Orders& orders = bench.request.orders;
  const BenchTitle title = bench.title();
  std::string text = "# " + orders.operation + ", " + std::to_string(bench.request.ranks) +
                     (bench.request.ranks == 1 ? " rank" : " ranks") + " on " +
                     std::to_string(bench.site.cpus) + " CPUs, backend " + bench.ours.name;
  if (title.operation.has_place()) text += orders.in_place ? ", in place" : ", out of place";
  if (orders.on_gpu) return print(text + ", GPU memory\n");
  text += orders.registered ? ", on buffers" : ", ordinary memory";
  print(text + (orders.cold ? ", cold caches\n" : ", warm caches\n"));
}

Result<int> measure_alone(const Bench& bench) {
  const BenchTitle title = bench.title();
  bool wrong = false;
  print_title(bench);
  print(table_head());
  const auto show = [&](std::size_t, const probe::Row& row) {
    print(table_line(title, row));
    bench.json.write(json_line(title, bench.ours.name, row));
    wrong = wrong || row.wrong > 0;
  };
  PACELINE_TRY_ASSIGN(
      const std::vector<Measured> measured,
      run_contenders(std::span(&bench.ours, 1), bench.site, bench.request.orders, show));
  const int code = measured.front().exit_code.value_or(kExitLauncher);
  if (code == kExitTimeout)
    complain("the ranks did not finish a measurement in time, and were ended");
  if (code == 0 && wrong) complain("results are wrong, see the last column");
  return code != 0 ? code : wrong ? kExitWrong : 0;
}

Result<int> measure_in_turn(const Bench& bench) {
  const BenchTitle title = bench.title();
  print_title(bench);
  std::vector<Contender> contenders{bench.ours};
  contenders.insert(contenders.end(), bench.others.begin(), bench.others.end());
  Rounds rounds(contenders, bench.site, bench.request, complain);
  PACELINE_TRY_ASSIGN(const int exit_code, rounds.run());
  if (exit_code != 0) return exit_code;
  const std::vector<BenchSeries>& series = rounds.series();
  print(comparison_head(series));
  bool wrong = false;
  for (std::size_t size = 0; size < series.front().rows.size(); ++size) {
    print(comparison_line(series, size));
    for (const BenchSeries& one : series) {
      const probe::Row row = median_row(one.rows[size]);
      wrong = wrong || row.wrong > 0;
      bench.json.write(json_line(title, one.name, row));
    }
    for (std::size_t other = 1; other < series.size(); ++other)
      bench.json.write(json_ratio(title, series.front(), series[other], size));
  }
  print(rounds.summary());
  if (wrong) complain("results are wrong");
  return wrong ? kExitWrong : 0;
}

}  // namespace

int bench_command(std::span<const std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "gradient")
    return bench_gradient_command(arguments.subspan(1));
  if (asks_for_help(arguments)) {
    print(bench_help());
    return 0;
  }
  Result<BenchRequest> request = parse_bench(arguments);
  if (!request.ok()) return complain(request.status().text() + "\nTry: paceline bench --help");
  const Result<Bench> bench = prepare(*std::move(request));
  if (!bench.ok()) return complain(bench.status().text());
  if (const Status adopting = adopt_orphans(); !adopting.ok()) return complain(adopting.text());
  const Result<int> code = bench->others.empty() ? measure_alone(*bench) : measure_in_turn(*bench);
  if (!code.ok()) return complain(code.status().to_string());
  if (bench->json.failed())
    return complain("cannot write " + bench->request.json_file + " completely");
  return *code;
}

}  // namespace paceline::launcher
