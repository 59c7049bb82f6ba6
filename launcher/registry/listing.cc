#include "launcher/registry/listing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

constexpr std::size_t kColumns = 5;
constexpr std::size_t kCommand = kColumns - 1;  // the last one; the others are never cut

using Row = std::array<std::string, kColumns>;

bool is_number(std::size_t column) { return column == 1 || column == 2 || column == 3; }

// Whole characters of UTF-8; the last one makes way for the sign that something is missing.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t characters = 0;
  std::size_t last = 0;  // where the last character that fits begins
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (characters == columns) return text.substr(0, last) + "…";
    last = i;
    ++characters;
  }
  return text;
}

std::string render(const Row& row, const std::array<std::size_t, kColumns>& widths,
                   std::size_t columns) {
  std::string line;
  for (std::size_t i = 0; i < kCommand; ++i) {
    const std::string space(widths[i] - row[i].size(), ' ');
    line += (is_number(i) ? space + row[i] : row[i] + space) + "  ";
  }
  // Some of the command is always shown, even where that is too wide.
  constexpr std::size_t kLeastCommand = 10;
  const std::size_t left = columns > line.size() ? columns - line.size() : 0;
  return line + cut(row[kCommand], std::max(left, kLeastCommand)) + "\n";
}

std::string names_of(const std::vector<JobRecord>& jobs) {
  constexpr std::size_t kMost = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(jobs.size(), kMost); ++i)
    names += (i == 0 ? "" : ", ") + jobs[i].id;
  return jobs.size() > kMost ? names + ", …" : names;
}

}  // namespace

std::string elapsed_text(Duration elapsed) {
  struct Unit {
    std::int64_t seconds;
    const char* name;
  };
  constexpr std::array kUnits{Unit{86400, " d"}, Unit{3600, " h"}, Unit{60, " min"}, Unit{1, " s"}};
  const std::int64_t seconds =
      std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(elapsed).count());
  for (std::size_t i = 0; i + 1 < kUnits.size(); ++i) {
    const auto [size, name] = kUnits[i];
    if (seconds < size) continue;
    const auto [next_size, next_name] = kUnits[i + 1];
    return std::to_string(seconds / size) + name + " " +
           std::to_string(seconds % size / next_size) + next_name;
  }
  return std::to_string(seconds) + " s";
}

std::string job_table(const std::vector<ListedJob>& jobs, TimePoint now, std::size_t columns) {
  std::vector<Row> rows{{"JOB", "HEAD", "RANKS", "ELAPSED", "COMMAND"}};
  for (const auto& [record, has_head, phase] : jobs)
    rows.push_back({record.id, has_head ? std::to_string(record.head.pid) : "ending",
                    std::to_string(record.ranks), elapsed_text(now - record.begin),
                    record.command});
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kCommand; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string table;
  for (const Row& row : rows) table += render(row, widths, columns);
  return table;
}

std::string job_json(const std::vector<ListedJob>& jobs, TimePoint now) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [record, has_head, phase] : jobs) {
    const double elapsed_s = std::chrono::duration<double>(now - record.begin).count();
    all.push_back({{"id", record.id},
                   {"host", record.host},
                   {"head", has_head ? nlohmann::json(record.head.pid) : nlohmann::json()},
                   {"ranks", record.ranks},
                   {"elapsed_s", std::max(0.0, std::round(elapsed_s * 1e3) / 1e3)},
                   {"command", record.command},
                   {"phase", phase.empty() ? nlohmann::json() : nlohmann::json(phase)}});
  }
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<JobRecord> find_job(const std::vector<JobRecord>& jobs, std::string_view prefix) {
  std::vector<JobRecord> matches;
  for (const JobRecord& job : jobs)
    if (job.id.starts_with(prefix)) matches.push_back(job);
  if (matches.size() == 1) return matches.front();
  if (prefix.empty())
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  matches.empty() ? "you have no jobs on this host"
                                  : "you have " + std::to_string(matches.size()) +
                                        " jobs; say which: " + names_of(matches));
  const std::string word = std::string("'").append(prefix) + "'";
  if (matches.size() > 1)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "the ids of " + std::to_string(matches.size()) + " jobs begin with " + word +
                      " (" + names_of(matches) + "); give more digits");
  return Status(
      Code::kInvalidArgument, Scope::kOperation,
      "there is no job " + word + "; " +
          (jobs.empty() ? "you have no jobs on this host" : "running jobs: " + names_of(jobs)));
}

}  // namespace paceline::launcher
