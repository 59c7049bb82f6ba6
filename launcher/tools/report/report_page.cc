#include "launcher/tools/report/report_page.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "launcher/registry/run_text.h"
#include "launcher/tools/report/report_charts.h"
#include "launcher/tools/report/report_style.h"
#include "launcher/tools/report/report_tables.h"
#include "launcher/tools/report/report_words.h"
#include "launcher/tools/report/run_findings.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMostTitle = 160;  // of a command

std::string page_begin(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'\">\n<title>" +
         html(title) + "</title>\n<style>" + std::string(report_style()) +
         "</style>\n</head>\n<body>\n";
}

std::string tile(const std::string& value, const std::string& what) {
  return "<div><b>" + html(value) + "</b><span>" + html(what) + "</span></div>";
}

std::string tiles_of(const RunEntry& run) {
  const RunFigures& figures = *run.figures;
  std::string tiles = "<div class=\"tiles\">";
  if (figures.has_steps) tiles += tile(step_words(figures.step_seconds), "a step");
  if (figures.samples_per_s > 0) tiles += tile(number_words(figures.samples_per_s), "samples/s");
  if (figures.has_steps && run.ranks > 1 && !run.ablated.is_any())
    tiles += tile(share_words(figures.efficiency),
                  figures.is_measured ? "efficiency, measured" : "efficiency, estimate");
  tiles += tile(std::to_string(run.ranks), run.ranks == 1 ? "rank" : "ranks");
  return tiles + tile(duration_words(run.seconds), "the whole run") + "</div>\n";
}

std::string findings_list(const ReportedRun& reported) {
  std::string list = "<ol class=\"findings\">\n";
  for (const RunFinding& finding : findings_of(reported.run, reported.baseline)) {
    list += "<li><p class=\"what\">" + html(finding.what) + ".</p>";
    if (!finding.advice.empty()) list += "<p class=\"do\">" + html(finding.advice) + "</p>";
    list += "</li>\n";
  }
  return list + "</ol>\n";
}

// Nothing, if there is nothing to show under the heading.
std::string section(const std::string& heading, const std::string& what,
                    const std::string& note = "") {
  if (what.empty()) return "";
  return "<h3>" + heading + "</h3>\n" +
         (note.empty() ? "" : "<p class=\"soft\">" + note + "</p>\n") + what;
}

std::string run_heading(const RunEntry& run, const std::string& tag) {
  std::string heading = "<" + tag + ">Run " + html(short_id(run)) + "</" + tag +
                        ">\n<p class=\"soft\">" + html(local_minute(run.begin_s)) + " · <code>" +
                        html(run.command, kMostTitle) + "</code></p>\n";
  if (const std::string words = ablation_words(run); !words.empty())
    heading += "<p class=\"bad\">" + html(words) + ".</p>\n";
  if (run.exit_code != 0)
    heading += "<p class=\"bad\">The run ended with exit code " + std::to_string(run.exit_code) +
               ".</p>\n";
  return heading;
}

std::string details_of(const RunEntry& run, double top_s) {
  const RunFigures& figures = *run.figures;
  const bool has_blocks = !figures.blocks.empty() && top_s > 0;
  return section("Where the time went", shares_chart(figures)) +
         section("Steps over time", has_blocks ? steps_chart(figures.blocks, top_s) : "",
                 "The time of a step, by the time of the run. Communication is moving data and "
                 "waiting.") +
         section("Operations", operations_table(run),
                 "Exposed is the share of their time in which ranks waited for them. Times for "
                 "algbw and busbw include waits for late ranks.") +
         section("Ranks", ranks_table(run), "Those that others waited for the most come first.") +
         section("Hosts", hosts_table(run),
                 "Means over the run, by the job and by others. Waits are the time in which some "
                 "program of the host waited. Network data is without loopback and RDMA.") +
         section("GPUs", gpus_table(run)) + section("Facts", facts_table(run));
}

std::string differences_of(const RunComparison& comparison) {
  std::string list;
  for (const ComparedQuantity& one : comparison.quantities) {
    if (!is_told(one)) continue;
    list += "<li" +
            (one.judgement == Judgement::kNamed
                 ? " data-differs=\"" + html(std::string(name(one.quantity))) + "\""
                 : std::string()) +
            "><p class=\"what\">" + html(difference_words(one)) + ".</p></li>\n";
  }
  if (list.empty())
    list = "<li><p class=\"what\">" + html(no_difference_words(comparison)) + ".</p></li>\n";
  return "<ol class=\"findings\">\n" + list + "</ol>\n";
}

}  // namespace

std::string report_page(const ReportedRun& reported) {
  const RunEntry& run = reported.run;
  return page_begin("Run " + short_id(run)) + run_heading(run, "h1") + "<h2>Findings</h2>\n" +
         findings_list(reported) + tiles_of(run) + details_of(run, chart_top(run.figures->blocks)) +
         "</body>\n</html>\n";
}

std::string report_page(const ReportedRun& first, const ReportedRun& second,
                        const RunComparison& comparison) {
  const std::string title = "Runs " + short_id(first.run) + " and " + short_id(second.run);
  std::string page = page_begin(title) + "<h1>" + html(title) + "</h1>\n<h2>Differences</h2>\n" +
                     differences_of(comparison);
  if (const std::string others = other_facts_words(comparison); !others.empty())
    page += "<p>" + html(others) + "</p>\n";
  page += comparison_table(comparison);
  if (!comparison.quantities.empty())
    page +=
        "<p class=\"soft\">± is the standard error, from the noise between blocks of steps. "
        "The first block of each run is left out. Changes of parts are shares of the step "
        "time.</p>\n";
  const double top_s =
      std::max(chart_top(first.run.figures->blocks), chart_top(second.run.figures->blocks));
  page += "<div class=\"pair\">\n";
  for (const ReportedRun* one : {&first, &second})
    page += "<section>\n" + run_heading(one->run, "h2") + findings_list(*one) + tiles_of(one->run) +
            details_of(one->run, top_s) + "</section>\n";
  return page + "</div>\n</body>\n</html>\n";
}

}  // namespace paceline::launcher
