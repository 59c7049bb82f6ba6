#include "tests/acceptance/job/simulation/event_text.h"

#include <variant>

#include "launcher/system/exit_status.h"

namespace paceline::launcher::testing {
namespace {

std::string in_words(const messages::FromAgent& message) {
  if (message.has_ready()) return "ready";
  if (message.has_started()) return "rank " + std::to_string(message.started().rank()) + " started";
  if (message.has_exited())
    return "rank " + std::to_string(message.exited().rank()) + " " +
           describe(message.exited().wait_status()) +
           (message.exited().has_blamed() ? ", blames " + std::to_string(message.exited().blamed())
                                          : "");
  if (message.has_refused()) return "refused";
  if (message.has_failure()) return "failure";
  if (message.has_finished()) return "finished";
  if (message.has_asked_to_end()) return "asked to end";
  return "alive";
}

struct Describe {
  std::string operator()(const JobBegins&) const { return "the job begins"; }
  std::string operator()(const EpochRecorded& recorded) const {
    return recorded.why.ok() ? "the epoch is recorded" : "the epoch cannot be recorded";
  }
  std::string operator()(const HostsFound& found) const {
    return found.why.ok() ? "hosts are found" : "no hosts are found";
  }
  std::string operator()(const AgentSaid& said) const {
    return "h" + std::to_string(said.host) + ": " + in_words(said.message);
  }
  std::string operator()(const AgentLost& lost) const {
    return "h" + std::to_string(lost.host) + ": lost";
  }
  std::string operator()(const StartRefused& refused) const {
    return "h" + std::to_string(refused.host) + ": start refused";
  }
  std::string operator()(const SignalCame& came) const {
    return "signal " + std::to_string(came.signal);
  }
  std::string operator()(const OutputBroke& broke) const {
    return "output broke: errno " + std::to_string(broke.error);
  }
  std::string operator()(const ReadingPaused&) const { return "reading paused"; }
  std::string operator()(const ReadingResumed&) const { return "reading resumed"; }
  std::string operator()(const TimePassed&) const { return "time passed"; }
};

}  // namespace

std::string text_of(const JobEvent& event) { return std::visit(Describe(), event); }

}  // namespace paceline::launcher::testing
