// A head whose agents say what a test wants.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "launcher/head/head.h"
#include "launcher/head/job_start.h"
#include "launcher/system/system.h"

namespace paceline::launcher {

// An agent that says what the test wants once it is told to start, and remembers what it was told.
class ScriptedJob final : public AgentChannel {
 public:
  explicit ScriptedJob(EventLoop& loop) : loop_(loop) {}

  void open(Receive receive, Closed closed) override {
    receive_ = std::move(receive);
    closed_ = std::move(closed);
  }
  Status send(const messages::ToAgent& message) override {
    if (message.has_stop()) stops.push_back(message.stop().signal());
    if (message.has_rank_ended()) ended.push_back(message.rank_ended().rank());
    if (message.has_signal()) passed_on.push_back(message.signal().signal());
    if (message.has_stop() && !dies_at_stop) say_later(finished());
    if (message.has_start()) {
      starts.push_back(message.start());
      for (const messages::FromAgent& line : script) say_later(line);
    }
    return Status();
  }
  std::size_t backlog_bytes() const override { return 0; }
  void when_drained(std::function<void()>) override {}
  void set_reading(bool) override {}

  void vanish() { closed_(Status()); }
  void say(const messages::FromAgent& message) { receive_(message); }
  static messages::FromAgent alive() {
    messages::FromAgent message;
    message.mutable_alive();
    return message;
  }
  static messages::FromAgent finished() {
    messages::FromAgent message;
    message.mutable_finished();
    return message;
  }

  std::vector<messages::FromAgent> script;
  std::vector<messages::Start> starts;
  std::vector<int> stops;
  std::vector<int> passed_on;
  std::vector<std::uint32_t> ended;  // ranks whose end this agent was told
  bool dies_at_stop = false;

 private:
  void say_later(const messages::FromAgent& message) {
    loop_.after(Duration::zero(), [this, message] { receive_(message); });
  }

  EventLoop& loop_;
  Receive receive_;
  Closed closed_;
};

inline messages::FromAgent exited(std::uint32_t rank, int code, std::int64_t time_ns) {
  messages::FromAgent message;
  message.mutable_exited()->set_rank(rank);
  message.mutable_exited()->set_wait_status(code << 8);
  message.mutable_exited()->set_time_ns(time_ns);
  return message;
}

inline messages::FromAgent wrote(std::uint32_t rank, const std::string& lines) {
  messages::FromAgent message;
  message.mutable_output()->set_rank(rank);
  message.mutable_output()->set_ending(messages::LINES);
  message.mutable_output()->set_text(lines);
  return message;
}

inline messages::Start part_of(const JobSpec& job, const std::string& host,
                               const std::vector<int>& ranks) {
  messages::Start part = start_of(job);
  part.set_host(host);
  give_ranks(part, ranks);
  return part;
}

// Its time passes where nothing else happens.
class VirtualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void pass_to(TimePoint moment) { now_ = std::max(now_, moment); }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

class HeadTest : public ::testing::Test {
 protected:
  int run(int ranks, JobSpec job = {}) {
    job.programs.resize(1);
    job.programs[0].ranks = ranks;
    job.programs[0].command = {"program"};
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return run(job, {{.channel = agent_, .start = part_of(job, "h", all)}});
  }
  // Two ranks on host a, one on host b.
  int run_on_two(JobSpec job = {}) {
    job.programs.resize(1);
    job.programs[0].ranks = 3;
    job.programs[0].command = {"program"};
    return run(job, {{.channel = agent_, .start = part_of(job, "a", {0, 1})},
                     {.channel = other_, .start = part_of(job, "b", {2})}});
  }
  int run(const JobSpec& job, std::vector<HostAgent> agents) {
    Head head(loop_, console_, job, std::move(agents), observers_);
    head_ = &head;
    loop_.after(std::chrono::seconds(60), [this] { loop_.stop(); });
    std::optional<int> code = head.run();
    while (!code) code = head.go_on(find_hosts(job));
    return *code;
  }
  // After some time: a spare host in place of host b.
  Result<std::vector<HostAgent>> find_hosts(const JobSpec& job) {
    for (const HostState& host : head_->state().hosts)
      if (host.is_lost) lost_.push_back(host.name + ": " + host.why_lost);
    loop_.after(std::chrono::seconds(2), [this] { loop_.stop(); });
    loop_.run().value();
    if (!finds_hosts_) return Status(Code::kUnavailable, Scope::kGroup, "no host is left");
    return std::vector<HostAgent>{{.channel = agent_, .start = part_of(job, "a", {0, 1})},
                                  {.channel = spare_, .start = part_of(job, "c", {2})}};
  }
  // At this moment, by a clock that is `ahead` of the head's.
  messages::FromAgent ready(std::chrono::nanoseconds ahead) const {
    messages::FromAgent message;
    message.mutable_ready()->mutable_meeting()->set_store("tcp:10.0.0.1:4000");
    message.mutable_ready()->set_time_ns((clock_.now() + ahead).time_since_epoch().count());
    return message;
  }
  static std::string text(const Pipe& pipe) {
    std::string all(65536, '\0');
    const ssize_t got = ::read(pipe.read_end.get(), all.data(), all.size());
    all.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return all;
  }

  VirtualClock clock_;
  EventLoop loop_{clock_, [this](TimePoint next) { clock_.pass_to(next); }};
  Pipe output_ = *make_pipe();
  Pipe error_ = *make_pipe();
  ScriptedJob agent_{loop_};
  ScriptedJob other_{loop_};
  ScriptedJob spare_{loop_};
  bool finds_hosts_ = true;
  std::vector<std::string> lost_;  // when other hosts were sought, with the reasons
  Console console_{loop_, output_.write_end.get(), error_.write_end.get()};
  std::vector<JobObserver*> observers_;
  Head* head_ = nullptr;
};

}  // namespace paceline::launcher
