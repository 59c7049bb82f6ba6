#include "launcher/agent/self_description.h"

#include <utility>

#include "comm/base/cpus.h"

namespace paceline::launcher {
namespace {

// Two jobs that plan on several hosts may wait for each other: then both go on after 2 s.
constexpr Duration kWait = std::chrono::milliseconds(20);
constexpr int kMostWaits = 100;

}  // namespace

void SelfDescription::answer(const messages::Describe& question) {
  if (scout_) return await_scout(question);
  if (!claims_) claims_.emplace(JobRegistry::here(), question.job_id());
  if (question.reserves() && !claims_->reserve() && waits_++ < kMostWaits) {
    loop_.after(kWait, [this, question] { answer(question); });
    return;
  }
  messages::FromAgent message;
  messages::Described& described = *message.mutable_described();
  described = machine_;
  described.set_number(question.number());
  if (!question.whole()) described.clear_machine();
  described.set_cpus(affinity().to_text());
  for (const CpuSet& cpus : claims_->of_others()) described.add_taken_cpus(cpus.to_text());
  tell_(message);
}

void SelfDescription::await_scout(const messages::Describe& question) {
  question_ = question;  // the last one counts
  scout_->await(loop_, [this](messages::Described machine) {
    machine_ = std::move(machine);
    scout_.reset();
    answer(question_);
  });
}

void SelfDescription::end(const CpuSet& bound_cpus) {
  waits_ = 0;
  if (claims_) claims_->claim(bound_cpus);
}

}  // namespace paceline::launcher
