#include "launcher/options/fault_script.h"

#include <array>
#include <sstream>
#include <utility>

#include <signal.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/option_values.h"

namespace paceline::launcher {
namespace {

struct NamedSignal {
  std::string_view name;
  int number;
};
constexpr std::array<NamedSignal, 8> kSignals = {{{"HUP", SIGHUP},
                                                  {"INT", SIGINT},
                                                  {"QUIT", SIGQUIT},
                                                  {"TERM", SIGTERM},
                                                  {"USR1", SIGUSR1},
                                                  {"USR2", SIGUSR2},
                                                  {"SEGV", SIGSEGV},
                                                  {"ABRT", SIGABRT}}};

constexpr std::uint32_t kMaxNumber = 1'000'000'000;
constexpr double kMinDropped = 0.001;  // percent
constexpr std::chrono::seconds kMaxDelay{60};
constexpr std::uint32_t kMaxExitCode = 255;

Status malformed(const std::string& text) {
  return Status(Code::kInvalidArgument, Scope::kOperation, text);
}

// The words of a line, one after the other.
class LineWords {
 public:
  explicit LineWords(const std::string& line) {
    std::istringstream stream(line);
    for (std::string word; stream >> word;) words_.push_back(std::move(word));
  }

  bool is_over() const { return at_ == words_.size(); }
  /// Takes the next word if it is `word`.
  bool take(std::string_view word) {
    if (is_over() || words_[at_] != word) return false;
    ++at_;
    return true;
  }
  Status expect(std::string_view word) {
    if (take(word)) return {};
    return malformed("'" + std::string(word) + "' is missing " + where());
  }
  Result<std::string> next(const std::string& what) {
    if (is_over()) return malformed(what + " is missing at the end");
    return words_[at_++];
  }
  Result<std::uint32_t> number(const std::string& what, std::uint32_t least,
                               std::uint32_t most = kMaxNumber) {
    PACELINE_TRY_ASSIGN(const std::string word, next(what));
    const auto value = parse_number<std::uint32_t>(word);
    if (value && *value >= least && *value <= most) return *value;
    return malformed(what + " '" + printable(word) + "' is not a whole number from " +
                     std::to_string(least) + " to " + std::to_string(most));
  }
  Result<double> percent(double least, double most) {
    PACELINE_TRY_ASSIGN(const std::string word, next("a percentage"));
    const std::size_t digits = word.size() - (word.ends_with('%') ? 1 : 0);
    const auto value = parse_number<double>(word.substr(0, digits));
    if (digits < word.size() && value && *value >= least && *value <= most) return *value;
    std::ostringstream text;
    text << "'" << printable(word) << "' is not a percentage from " << least << "% to " << most
         << "%";
    return malformed(text.str());
  }
  Result<int> rank() {
    PACELINE_TRY_ASSIGN(const std::uint32_t number, this->number("the rank", 0));
    if (std::cmp_less(number, kMaxRanks)) return static_cast<int>(number);
    return malformed("there is no rank " + std::to_string(number));
  }
  Result<std::chrono::nanoseconds> time() {
    PACELINE_TRY_ASSIGN(const std::string word, next("a time"));
    return parse_seconds(word);
  }
  std::string where() const {
    return is_over() ? "at the end" : "before '" + printable(words_[at_]) + "'";
  }

 private:
  std::vector<std::string> words_;
  std::size_t at_ = 0;
};

// "rank 3" or "host h2".
Status read_target(LineWords& words, FaultSpec& fault) {
  if (words.take("rank")) {
    PACELINE_TRY_ASSIGN(fault.rank, words.rank());
    return {};
  }
  if (!words.take("host")) return malformed("'rank' or 'host' is missing " + words.where());
  PACELINE_TRY_ASSIGN(fault.host, words.next("the host"));
  return {};
}

Status read_rank(LineWords& words, FaultSpec& fault) {
  PACELINE_TRY(words.expect("rank"));
  PACELINE_TRY_ASSIGN(fault.rank, words.rank());
  return {};
}

Status read_slow(LineWords& words, FaultSpec& fault) {
  PACELINE_TRY(read_rank(words, fault));
  PACELINE_TRY(words.expect("to"));
  PACELINE_TRY_ASSIGN(fault.percent, words.percent(1, 99));
  return {};
}

Status read_signal(LineWords& words, FaultSpec& fault) {
  PACELINE_TRY(read_rank(words, fault));
  PACELINE_TRY_ASSIGN(const std::string name, words.next("the signal"));
  for (const NamedSignal& signal : kSignals)
    if (signal.name == name || name == "SIG" + std::string(signal.name))
      fault.signal = signal.number;
  if (fault.signal != 0) return {};
  return malformed("'" + printable(name) +
                   "' is not one of the signals HUP, INT, QUIT, TERM, USR1, USR2, SEGV, ABRT");
}

Status read_exit(LineWords& words, FaultSpec& fault) {
  PACELINE_TRY(read_rank(words, fault));
  PACELINE_TRY(words.expect("with"));
  PACELINE_TRY_ASSIGN(const std::uint32_t code, words.number("the exit code", 0, kMaxExitCode));
  fault.exit_code = static_cast<int>(code);
  return {};
}

// "from host h1 to h2", "between hosts h1 and h2".
Status read_link(LineWords& words, FaultSpec& fault) {
  fault.both_ways = words.take("between");
  if (!fault.both_ways && !words.take("from"))
    return malformed("'from' or 'between' is missing " + words.where());
  PACELINE_TRY(words.expect(fault.both_ways ? "hosts" : "host"));
  PACELINE_TRY_ASSIGN(fault.host, words.next("the host"));
  PACELINE_TRY(words.expect(fault.both_ways ? "and" : "to"));
  PACELINE_TRY_ASSIGN(fault.to_host, words.next("the other host"));
  if (fault.host == fault.to_host) return malformed("a link needs two hosts");
  return {};
}

Status read_delay(LineWords& words, FaultSpec& fault) {
  PACELINE_TRY_ASSIGN(const std::string word, words.next("a time"));
  PACELINE_TRY_ASSIGN(fault.delay, parse_seconds(word));
  if (fault.delay <= std::chrono::nanoseconds::zero() || fault.delay > kMaxDelay)
    return malformed("the delay '" + printable(word) +
                     "' is not allowed; use more than 0 and at most 60s");
  return read_link(words, fault);
}

Status read_drop(LineWords& words, FaultSpec& fault) {
  PACELINE_TRY_ASSIGN(fault.percent, words.percent(kMinDropped, 100));
  return read_link(words, fault);
}

Status read_fill(LineWords& words, FaultSpec& fault) {
  PACELINE_TRY_ASSIGN(fault.path, words.next("the folder"));
  if (!fault.path.starts_with('/')) return malformed("the folder must begin with '/'");
  PACELINE_TRY(words.expect("on"));
  PACELINE_TRY(words.expect("host"));
  PACELINE_TRY_ASSIGN(fault.host, words.next("the host"));
  return {};
}

struct Action {
  std::string_view word;
  FaultKind kind;
  Status (*read)(LineWords& words, FaultSpec& fault);
  bool lasts;  // takes "for"
};
constexpr std::array<Action, 8> kActions = {{{"kill", FaultKind::kKill, read_target, false},
                                             {"stop", FaultKind::kStop, read_target, true},
                                             {"slow", FaultKind::kSlow, read_slow, true},
                                             {"signal", FaultKind::kSignal, read_signal, false},
                                             {"fill", FaultKind::kFill, read_fill, true},
                                             {"exit", FaultKind::kExit, read_exit, false},
                                             {"delay", FaultKind::kDelay, read_delay, true},
                                             {"drop", FaultKind::kDrop, read_drop, true}}};

Status read_duration(LineWords& words, bool lasts, FaultSpec& fault) {
  if (!words.take("for")) return {};
  if (!lasts) return malformed("only stop, slow, fill, delay and drop take 'for'");
  if (fault.kind == FaultKind::kStop && !fault.rank)
    return malformed("a stopped host cannot continue: leave out 'for'");
  PACELINE_TRY_ASSIGN(fault.lasts, words.time());
  return {};
}

Status read_action(LineWords& words, FaultSpec& fault) {
  for (const Action& action : kActions) {
    if (!words.take(action.word)) continue;
    fault.kind = action.kind;
    PACELINE_TRY(action.read(words, fault));
    return read_duration(words, action.lasts, fault);
  }
  return malformed("one of kill, stop, slow, signal, fill, exit, delay and drop is missing " +
                   words.where());
}

// "in restart 1, after 2s", "at operation 100 of rank 3".
Status read_time(LineWords& words, FaultSpec& fault) {
  if (words.take("in")) {
    PACELINE_TRY(words.expect("restart"));
    PACELINE_TRY_ASSIGN(fault.restart, words.number("the restart", 1));
    PACELINE_TRY(words.expect(","));
  }
  if (words.take("after")) {
    PACELINE_TRY_ASSIGN(fault.after, words.time());
    return {};
  }
  if (!words.take("at")) return malformed("'after' or 'at operation' is missing " + words.where());
  PACELINE_TRY(words.expect("operation"));
  PACELINE_TRY_ASSIGN(fault.operation, words.number("the operation", 0));
  if (!words.take("of")) return {};
  PACELINE_TRY(words.expect("rank"));
  PACELINE_TRY_ASSIGN(fault.watched_rank, words.rank());
  return {};
}

// Punctuation at the end of a word becomes a word. Inside, it belongs to a path or an address.
std::string with_words_of_punctuation(const std::string& line) {
  std::string spaced;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool ends_word = i + 1 == line.size() || line[i + 1] == ' ' || line[i + 1] == '\t';
    if ((line[i] == ',' || line[i] == ':') && ends_word) spaced += ' ';
    spaced += line[i];
  }
  return spaced;
}

Result<FaultSpec> parse_fault(const std::string& line) {
  FaultSpec fault{.text = line};
  LineWords words(with_words_of_punctuation(line));
  PACELINE_TRY(read_time(words, fault));
  PACELINE_TRY(words.expect(":"));
  PACELINE_TRY(read_action(words, fault));
  if (!words.is_over()) return malformed("the end of the line is expected " + words.where());
  if (!fault.operation) return fault;
  if (!fault.watched_rank) fault.watched_rank = fault.rank;
  if (!fault.watched_rank) return malformed("say whose operation it is: 'of rank 0'");
  if (fault.both_ways)
    return malformed("'between' needs a time: use 'after', or 'from' for one direction");
  return fault;
}

}  // namespace

Result<std::vector<FaultSpec>> parse_fault_script(std::string_view text, const std::string& file) {
  std::vector<FaultSpec> faults;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.erase(std::min(line.find('#'), line.size()));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    line = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    Result<FaultSpec> fault = parse_fault(line);
    if (!fault.ok())
      return usage_error(file + ", line " + std::to_string(number) + ": " + fault.status().text());
    fault->line = number;
    faults.push_back(*std::move(fault));
    if (faults.size() > kMaxFaults)
      return usage_error(file + ": more than " + std::to_string(kMaxFaults) + " faults");
  }
  return faults;
}

}  // namespace paceline::launcher
