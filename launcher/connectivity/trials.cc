#include "launcher/connectivity/trials.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "comm/base/ip_address.h"
#include "comm/base/try.h"
#include "comm/socket.h"
#include "launcher/connectivity/half_open.h"
#include "launcher/connectivity/survey.h"
#include "telemetry/log.h"

namespace paceline::launcher {
namespace {

constexpr std::uint32_t kMaxWaves = 1 << 10;

using NoAddresses = std::set<IpAddress>;

Status refused(const char* why) {
  return Status(Code::kInternal, Scope::kOperation, std::string("the head asked for ") + why);
}

Result<SocketAddress> socket_address(const messages::Target& target) {
  const auto address = IpAddress::parse(target.address());
  if (!address) return refused("a test of an invalid address");
  return SocketAddress::parse(with_port(address->to_string(), static_cast<int>(target.port())));
}

PortRange ports_of(const messages::Survey& survey) {
  return {.first = static_cast<int>(survey.ports().first()),
          .last = static_cast<int>(survey.ports().last())};
}

}  // namespace

Status Trials::receive(const messages::ToAgent& message) {
  return message.has_survey() ? survey(message.survey()) : start(message.trials());
}

Status Trials::survey(const messages::Survey& survey) {
  std::array<std::byte, JobKey::kBytes> bytes;
  if (key_ || survey.job_key().size() != bytes.size()) return refused("a survey without a key");
  std::memcpy(bytes.data(), survey.job_key().data(), bytes.size());
  key_ = JobKey::from_bytes(bytes);
  host_index_ = survey.host_index();
  PACELINE_TRY_ASSIGN(server_,
                      TrialServer::open(loop_, *key_,
                                        {.host_index = host_index_,
                                         .ports = ports_of(survey),
                                         .log = make_stderr_log({.level = LogLevel::kWarning})}));
  messages::FromAgent answer;
  *answer.mutable_surveyed() = survey_this_host(SystemWallClock(), server_->port());
  answer.mutable_surveyed()->set_number(survey.number());
  tell_(answer);
  return Status();
}

Status Trials::start(messages::Try order) {
  if (!server_ || !left_.empty()) return refused("tests twice, or before a survey");
  if (std::cmp_greater(order.targets_size(), kMaxTargets) ||
      order.long_bytes() > TrialServer::kMaxLongBytes)
    return refused("too many tests");
  left_.resize(1);
  for (const messages::Target& target : order.targets()) {
    if (target.wave() >= kMaxWaves) return refused("too many waves");
    left_.resize(std::max<std::size_t>(left_.size(), target.wave() + 1));
    ++left_[target.wave()];
  }
  order_ = std::move(order);
  began_ = moved_ = loop_.clock().now();
  start_more();
  return Status();
}

void Trials::end() {
  for (auto* timer : {&late_, &go_on_})
    if (*timer) loop_.cancel(*std::exchange(*timer, std::nullopt));
  under_way_.clear();
  server_.reset();
}

void Trials::start_more() {
  while (next_ < order_.targets_size() && under_way_.size() < kMostAtOnce)
    start_one(static_cast<std::uint32_t>(next_++));
  if (order_.targets_size() == 0) report();
  if (!late_ && !under_way_.empty()) late_ = loop_.after(kPatience, [this] { give_up_late(); });
}

void Trials::start_one(std::uint32_t index) {
  const messages::Target& target = order_.targets(static_cast<int>(index));
  const Result<SocketAddress> address = socket_address(target);
  if (!address.ok()) return note(index, messages::NO_WAY);
  UnderWay& trial = under_way_.emplace_back();
  const auto place = std::prev(under_way_.end());
  trial.target = index;
  trial.began = loop_.clock().now();
  trial.dial = std::make_unique<TrialDial>(
      loop_, *key_,
      TrialDial::Options{
          .from = host_index_, .to = target.host_index(), .long_bytes = order_.long_bytes()},
      [this, place](messages::TrialEnd how) { ended(place, how); });
  trial.dial->start(*address);
}

// The dial that calls this goes last of all.
void Trials::ended(std::list<UnderWay>::iterator trial, messages::TrialEnd how) {
  const std::unique_ptr<TrialDial> dial = std::move(trial->dial);
  const std::uint32_t target = trial->target;
  under_way_.erase(trial);
  note(target, how);
  if (go_on_ || next_ == order_.targets_size()) return;
  go_on_ = loop_.after(Duration::zero(), [this] {
    go_on_.reset();
    start_more();
  });
}

void Trials::note(std::uint32_t target, messages::TrialEnd how) {
  unanswered_ |= how == messages::NO_ANSWER;
  if (how == messages::REACHED) moved_ = loop_.clock().now();
  messages::Trial& trial = *tried_.mutable_tried()->add_trials();
  trial.set_target(target);
  trial.set_end(how);
  if (--left_[order_.targets(static_cast<int>(target)).wave()] == 0) report();
}

void Trials::give_up_late() {
  late_.reset();
  const TimePoint now = loop_.clock().now();
  if (now - moved_ < kStill && now - began_ < kMostPatience) {
    report();  // so that the head knows
    late_ = loop_.after(kStill, [this] { give_up_late(); });
    return;
  }
  while (!under_way_.empty() && now >= under_way_.front().began + kPatience)
    under_way_.front().dial->give_up();
  if (!under_way_.empty())
    late_ = loop_.after(under_way_.front().began + kPatience - now, [this] { give_up_late(); });
}

bool Trials::all_done() const { return under_way_.empty() && next_ == order_.targets_size(); }

void Trials::report() {
  if (all_done()) {
    tried_.mutable_tried()->set_last(true);
    // The table of a busy host is long: it is read only where it may explain something.
    for (const IpAddress& address : unanswered_ ? half_open_at(server_->port()) : NoAddresses())
      tried_.mutable_tried()->add_half_open(address.to_string());
  }
  tried_.mutable_tried();
  tell_(std::exchange(tried_, {}));
}

}  // namespace paceline::launcher
