// The agents of a simulated job, and their ranks.
#include <algorithm>
#include <cerrno>
#include <type_traits>
#include <utility>

#include <signal.h>

#include "tests/acceptance/job/simulation/simulated_job.h"

namespace paceline::launcher::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLongestRank = seconds(8);

}  // namespace

// ---- The agents ----------------------------------------------------------------------------

// In order: a message does not arrive before the one ahead of it.
void SimulatedJob::send(std::size_t at, std::function<void()> order) {
  Agent& agent = agents_[at];
  agent.last_in = std::max(agent.last_in, now_ + up_to(plan_.max_delay));
  actions_.emplace(agent.last_in, [this, at, order = std::move(order)] {
    if (!agents_[at].gone) order();
  });
}

void SimulatedJob::say(std::size_t at, const messages::FromAgent& message) {
  Agent& agent = agents_[at];
  if (agent.gone) return;
  const int times = doubles_ && random_.chance(0.2) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    agent.last_out = std::max(agent.last_out, now_ + up_to(plan_.max_delay));
    AgentSaid said{.host = 0, .message = message};
    said.message.set_epoch(agent.epoch);
    actions_.emplace(agent.last_out, [this, at, said = std::move(said)] { arrive(at, said); });
  }
}

void SimulatedJob::start(std::size_t at, std::uint32_t epoch) {
  Agent& agent = agents_[at];
  if (!std::exchange(agent.says_alive, true)) say_alive(at);
  for (Rank& rank : agent.ranks) rank.ordered = false;
  if (agent.refuses) {
    messages::FromAgent message;
    message.mutable_refused()->set_rank(agent.ranks.front().number);
    message.mutable_refused()->set_error(ENOENT);
    message.mutable_refused()->set_text("the program does not exist");
    say(at, message);
    return finish(at);
  }
  after(up_to(milliseconds(50)), [this, at, epoch] {
    if (agents_[at].epoch == epoch) start_ranks(at);
  });
}

void SimulatedJob::start_ranks(std::size_t at) {
  Agent& agent = agents_[at];
  if (agent.finished || agent.gone) return;
  messages::FromAgent message;
  message.mutable_ready()->set_time_ns((now_ + agent.clock_ahead).time_since_epoch().count());
  message.mutable_ready()->mutable_meeting()->set_store(meeting_of(agent.epoch));
  say(at, message);
  const bool run_on = std::ranges::count(plan_.mishaps, Mishap::kTimeout) > 0;
  for (std::size_t local = 0; local < agent.ranks.size(); ++local) {
    agent.ranks[local].running = true;
    messages::FromAgent started;
    started.mutable_started()->set_rank(agent.ranks[local].number);
    started.mutable_started()->set_pid(1000 + static_cast<int>(local));
    say(at, started);
    if (!run_on) end_rank_later(at, local, 0, up_to(kLongestRank));
  }
}

void SimulatedJob::say_alive(std::size_t at) {
  if (agents_[at].gone) return;
  messages::FromAgent message;
  message.mutable_alive();
  say(at, message);
  after(seconds(1), [this, at] { say_alive(at); });
}

void SimulatedJob::stop(std::size_t at, int signal, Duration grace) {
  Agent& agent = agents_[at];
  if (agent.gone || agent.finished || !agent.started) return;
  const bool none_runs =
      std::ranges::none_of(agent.ranks, [](const Rank& rank) { return rank.running; });
  if (none_runs) return finish(at);
  for (std::size_t local = 0; local < agent.ranks.size(); ++local) {
    Rank& rank = agent.ranks[local];
    rank.ordered = true;
    if (signal == SIGKILL) {
      end_rank(at, local, SIGKILL);
    } else if (!rank.stubborn) {
      const int status = random_.chance(0.8) ? signal : random_.chance(0.5) ? 0 : 5 << 8;
      end_rank_later(at, local, status, up_to(milliseconds(300)));
    } else {
      end_rank_later(at, local, SIGKILL, grace);
    }
  }
}

// Not if the ranks were started again meanwhile.
void SimulatedJob::end_rank_later(std::size_t at, std::size_t local, int wait_status,
                                  Duration delay, std::optional<int> blamed) {
  after(delay, [=, this, epoch = agents_[at].epoch] {
    if (agents_[at].epoch == epoch) end_rank(at, local, wait_status, blamed);
  });
}

void SimulatedJob::end_rank(std::size_t at, std::size_t local, int wait_status,
                            std::optional<int> blamed) {
  Agent& agent = agents_[at];
  Rank& rank = agent.ranks[local];
  if (agent.gone || !rank.running) return;
  rank.running = false;
  ends_.push_back(
      {.rank = rank.number, .wait_status = wait_status, .when = now_, .by_order = rank.ordered});
  messages::FromAgent message;
  messages::RankExited& exited = *message.mutable_exited();
  exited.set_rank(rank.number);
  exited.set_wait_status(wait_status);
  exited.set_time_ns((now_ + agent.clock_ahead).time_since_epoch().count());
  if (blamed && *blamed != static_cast<int>(rank.number))
    exited.set_blamed(static_cast<std::uint32_t>(*blamed));
  say(at, message);
  const bool none_runs =
      std::ranges::none_of(agent.ranks, [](const Rank& one) { return one.running; });
  if (none_runs) finish(at);
}

// The channel of the first host's agent stays, for its store. Those of all stay for restarts.
void SimulatedJob::finish(std::size_t at) {
  Agent& agent = agents_[at];
  if (std::exchange(agent.finished, true)) return;
  messages::FromAgent message;
  message.mutable_finished();
  say(at, message);
  if (host_of(at) == 0U || stays()) return;
  lose(at);
  agent.lost = false;
}

// A channel that is not the head's any more brings nothing.
template <class Event>
void SimulatedJob::arrive(std::size_t at, Event event) {
  if (paused_) return held_.push_back([=, this] { arrive(at, event); });
  const auto host = host_of(at);
  if (!host) return;
  event.host = *host;
  agents_[at].lost_told = agents_[at].lost_told || std::is_same_v<Event, AgentLost>;
  handle(event);
}

// The end of a channel comes after all messages.
void SimulatedJob::lose(std::size_t at) {
  Agent& agent = agents_[at];
  if (agent.gone) return;
  agent.gone = agent.lost = true;
  agent.ranks_end = now_ + JobMachine::kFencing;  // if it is cut off
  agent.last_out = std::max(agent.last_out, now_ + up_to(plan_.max_delay));
  actions_.emplace(agent.last_out,
                   [this, at] { arrive(at, AgentLost{.host = 0, .why = Status()}); });
}

}  // namespace paceline::launcher::testing
