// Jobs that the acceptance programs of 2026-11-29 have run were recorded by the head that decided
// with timers and callbacks of its own: all that agents told it, signals, the moments at which its
// timers ran, and what it ordered. JobMachine gets the same events, and must give the same
// commands, texts and exit codes.
//
//   recorded_jobs_end_as_before [FILE...]    without: those of the source tree
//
// A record has a line for each event with its time in ns, and "> " before each command. Messages
// and texts are hexadecimal.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <signal.h>

#include "launcher/job/job_machine.h"

namespace paceline::launcher {
namespace {

struct RecordedJob {
  std::string name;
  JobMachine::Rules rules;
  std::vector<JobHost> hosts;
  std::vector<std::pair<TimePoint, JobEvent>> events;
  std::vector<std::string> commands;
  int exit_code = 0;
};

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t at = 0; hex != "-" && at + 1 < hex.size(); at += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
  return bytes;
}

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text.empty() ? "-" : text;
}

// None for a word that begins no event.
std::optional<JobEvent> event_of(const std::string& word, std::istringstream& rest) {
  std::size_t host = 0;
  std::string text;
  int number = 0;
  if (word == "begin") return JobBegins{};
  if (word == "timer") return TimePassed{};
  if (word == "paused") return ReadingPaused{};
  if (word == "resumed") return ReadingResumed{};
  if (word == "broke" && rest >> number) return OutputBroke{number};
  if (word == "signal" && rest >> number)
    return SignalCame{number == SIGTSTP ? SIGSTOP : number};  // as Head::pause()
  if (word == "alive" && rest >> host) {  // output, which was no event of its own
    AgentSaid said{.host = host, .message = {}};
    said.message.mutable_alive();
    return said;
  }
  if (word == "said" && rest >> host >> text) {
    AgentSaid said{.host = host, .message = {}};
    if (said.message.ParseFromString(bytes_of(text))) return said;
  }
  if (word == "lost" && rest >> host >> text)
    return AgentLost{
        .host = host,
        .why = text == "ok" ? Status() : Status(Code::kUnavailable, Scope::kPeer, bytes_of(text))};
  if (word == "unsent" && rest >> host >> text)
    return StartRefused{.host = host,
                        .why = Status(Code::kInvalidArgument, Scope::kPeer, bytes_of(text))};
  return std::nullopt;
}

// Empty if a line is not one of a record; it is named.
std::vector<RecordedJob> read_records(const std::string& path) {
  std::ifstream file(path);
  std::vector<RecordedJob> records;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    std::string word;
    std::int64_t time_ns = 0;
    words >> word;
    if (word == "job") {
      std::int64_t timeout = 0, grace = 0, silence = 0;
      words >> timeout >> grace >> silence;
      records.push_back({.name = path + ":" + std::to_string(number),
                         .rules = {.timeout = Duration(timeout),
                                   .grace = Duration(grace),
                                   .max_silence = Duration(silence)}});
      continue;
    }
    if (records.empty()) break;
    RecordedJob& record = records.back();
    if (word == ">") {
      record.commands.push_back(line.substr(2));
    } else if (word == "exit") {
      words >> record.exit_code;
    } else if (word == "host") {
      JobHost host;
      words >> host.name >> host.writes_files;
      for (std::uint32_t rank = 0; words >> rank;) host.ranks.push_back(rank);
      record.hosts.push_back(std::move(host));
    } else if (words >> time_ns) {
      auto event = event_of(word, words);
      if (!event) {
        std::printf("%s:%d: this is not a line of a record\n", path.c_str(), number);
        return {};
      }
      record.events.emplace_back(TimePoint(Duration(time_ns)), *std::move(event));
    }
  }
  if (records.empty()) std::printf("%s: it has no record\n", path.c_str());
  return records;
}

// The membership log is younger than the records: they have no Record and no answer to one.
struct InWords {
  std::string operator()(const Record&) const { return ""; }
  std::string operator()(const FindHosts&) const { return "find hosts"; }
  std::string operator()(const StartHost& start) const {
    return "start " + std::to_string(start.host) + " " + hex_of(start.meeting.SerializeAsString());
  }
  std::string operator()(const TellHost& tell) const {
    return "tell " + std::to_string(tell.host) + " " + hex_of(tell.message.SerializeAsString());
  }
  std::string operator()(const TellAllHosts& tell) const {
    return "tellall " + hex_of(tell.message.SerializeAsString());
  }
  std::string operator()(const Say& say) const { return "say " + hex_of(say.text); }
  std::string operator()(const LimitOutput& limit) const {
    return "limit " + std::to_string(limit.grace.count());
  }
  std::string operator()(const EndGrace&) const { return "endgrace"; }
  std::string operator()(const DropOutput&) const { return "drop"; }
  std::string operator()(const EndJob&) const { return "end"; }
};

bool begins_epoch(const JobCommand& command) {
  const Record* const record = std::get_if<Record>(&command);
  return record != nullptr && std::holds_alternative<EpochBegins>(record->entry);
}

// True if the machine decides as was recorded.
bool replay(const RecordedJob& record) {
  JobMachine machine(record.rules, record.hosts);
  std::vector<std::string> commands;
  for (const auto& [time, event] : record.events) {
    std::vector<JobCommand> given = machine.handle(time, event);
    if (std::ranges::any_of(given, begins_epoch))
      std::ranges::move(machine.handle(time, EpochRecorded{}), std::back_inserter(given));
    std::erase_if(given, [](const JobCommand& one) { return std::holds_alternative<Record>(one); });
    for (const JobCommand& command : given) commands.push_back(std::visit(InWords(), command));
  }
  const int code = exit_code(machine.state().outcome);
  if (commands == record.commands && code == record.exit_code) return true;
  std::printf("%s: exit code %d, recorded %d\n", record.name.c_str(), code, record.exit_code);
  const std::size_t most = std::max(commands.size(), record.commands.size());
  for (std::size_t i = 0; i < most; ++i) {
    const std::string is = i < commands.size() ? commands[i] : "nothing";
    const std::string was = i < record.commands.size() ? record.commands[i] : "nothing";
    if (is != was) std::printf("  command %zu: %s\n    recorded: %s\n", i, is.c_str(), was.c_str());
  }
  return false;
}

int run(const std::vector<std::string>& paths) {
  std::size_t records = 0, events = 0, commands = 0, wrong = 0;
  for (const std::string& path : paths) {
    const std::vector<RecordedJob> read = read_records(path);
    if (read.empty()) return 1;
    for (const RecordedJob& record : read) {
      ++records;
      events += record.events.size();
      commands += record.commands.size();
      if (!replay(record)) ++wrong;
    }
  }
  std::printf("%zu of %zu recorded jobs differ (%zu events, %zu commands)\n", wrong, records,
              events, commands);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace paceline::launcher

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  std::erase(paths, "--quick");
  if (paths.empty()) paths = {PACELINE_RECORDED_JOBS};
  return paceline::launcher::run(paths);
}
