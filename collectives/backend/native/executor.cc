#include "collectives/backend/native/executor.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "comm/base/assert.h"

namespace paceline {

void Executor::start(std::shared_ptr<const CompiledPlan> plan, const Signature& signature,
                     const std::byte* input, std::byte* output) {
  PACELINE_ASSERT(plan_ == nullptr);
  plan_ = std::move(plan);
  signature_ = signature;
  element_bytes_ = size_of(signature.type);
  kernels_ = &kernels().of(signature.type);
  failure_ = {};
  disagreement_.reset();
  const Plan& steps = plan_->plan();
  const std::size_t count = steps.steps.size();
  left_ = count;
  progress_.assign(count, Progress::kWaiting);
  waits_for_.resize(count);
  if (requests_.size() < count) requests_.resize(count);
  next_in_lane_.assign(plan_->lanes(), 0);
  local_ready_.clear();
  ended_.clear();
  if (scratch_.size() < bytes(steps.scratch_count)) scratch_.resize(bytes(steps.scratch_count));
  buffers_[static_cast<std::size_t>(PlanBuffer::kInput)] = const_cast<std::byte*>(input);
  buffers_[static_cast<std::size_t>(PlanBuffer::kOutput)] = output;
  buffers_[static_cast<std::size_t>(PlanBuffer::kScratch)] = scratch_.data();
  for (StepId step = 0; step < count; ++step) {
    waits_for_[step] = steps.steps[step].dependency_count;
    if (waits_for_[step] == 0) make_ready(step);
  }
}

bool Executor::advance() {
  bool moved = false;
  while (!ended()) {
    bool again = advance_lanes();
    // Messages first: what they carry travels while this rank reduces.
    while (!ended_.empty() && failure_.ok()) {
      const StepId step = ended_.back();
      ended_.pop_back();
      finish_step(step);
      again = true;
    }
    if (!again && !local_ready_.empty()) {
      const StepId step = local_ready_.back();
      local_ready_.pop_back();
      begin(step);
      again = true;
    }
    if (!again) break;
    moved = true;
  }
  return moved;
}

bool Executor::advance_lanes() {
  bool moved = false;
  for (std::uint32_t lane = 0; lane < next_in_lane_.size(); ++lane) {
    const std::span<const StepId> steps = plan_->lane(lane);
    std::size_t& next = next_in_lane_[lane];
    for (; next < steps.size() && progress_[steps[next]] == Progress::kReady; ++next) {
      begin(steps[next]);
      moved = true;
    }
  }
  return moved;
}

bool Executor::has_begun_all_messages() const {
  for (std::uint32_t lane = 0; lane < next_in_lane_.size(); ++lane)
    if (next_in_lane_[lane] < plan_->lane(lane).size()) return false;
  return true;
}

void Executor::make_ready(StepId step) {
  progress_[step] = Progress::kReady;
  if (plan_->lane_of(step) == CompiledPlan::kNoLane) local_ready_.push_back(step);
}

void Executor::begin(StepId id) {
  const Step& step = plan_->plan().steps[id];
  progress_[id] = Progress::kBegun;
  switch (step.kind) {
    case StepKind::kSend:
    case StepKind::kRecv:
      return begin_message(id);
    case StepKind::kReduce:
      reduce(step);
      break;
    case StepKind::kCopy:
      if (at(step.target) != at(step.from) && step.count > 0) {
        std::memcpy(at(step.target), at(step.from), bytes(step.count));
      }
      break;
  }
  ended_.push_back(id);
}

void Executor::reduce(const Step& step) {
  operands_.clear();
  for (const Span& operand : plan_->plan().operands_of(step)) operands_.push_back(at(operand));
  const Plan& plan = plan_->plan();
  if (signature_.op == ReduceOp::kAvg && kernels_->weighted_sum != nullptr)
    return average(plan, step);
  kernels_->reduce_all(signature_.op, at(step.target), operands_, step.count);
  // The result is still in the cache. It is divided on the one rank that reduces it, or on all
  // alike: the same bits everywhere.
  if (signature_.op == ReduceOp::kAvg && plan.contributions_after(step) == plan.ranks)
    kernels_->divide(at(step.target), step.count, static_cast<std::uint64_t>(plan.ranks));
}

// A sum of c ranks is stored divided by the smallest power of two that is at least c. So it never
// exceeds the largest element, and the division changes no bit of a normal number.
void Executor::average(const Plan& plan, const Step& step) {
  const auto scale_of = [](int contributions) {
    return static_cast<float>(std::bit_ceil(static_cast<std::uint32_t>(contributions)));
  };
  weights_.clear();
  for (const int one : plan.contributions_of(step)) weights_.push_back(scale_of(one));
  const int after = plan.contributions_after(step);
  const float divisor = after == plan.ranks ? static_cast<float>(plan.ranks) : scale_of(after);
  kernels_->weighted_sum(at(step.target), operands_.data(), weights_.data(), operands_.size(),
                         divisor, step.count);
}

void Executor::begin_message(StepId id) {
  const Step& step = plan_->plan().steps[id];
  Request& request = requests_[id];
  request = {.listener = this, .tag = id};
  if (step.kind == StepKind::kSend) {
    transport_->send(step.peer, signature_, {at(step.from), bytes(step.count)}, request);
  } else {
    transport_->receive(step.peer, {at(step.target), bytes(step.count)}, request);
  }
}

void Executor::ended(Request& request) {
  const StepId step = request.tag;
  if (plan_->plan().steps[step].kind == StepKind::kRecv) check_message(step, request);
  if (failure_.ok()) failure_ = request.status;
  ended_.push_back(step);
}

// Another operation's message is the more telling error than its length.
void Executor::check_message(StepId id, const Request& request) {
  const bool came = request.status.ok() || request.status.code() == Code::kMismatch;
  if (!came || !failure_.ok()) return;
  const bool same_call = request.signature == signature_;
  if (same_call && request.status.ok()) return;
  disagreement_ = {.peer = plan_->plan().steps[id].peer,
                   .theirs = request.signature,
                   .difference = same_call ? std::string(request.status.text()) : std::string()};
  failure_ = Status(Code::kMismatch, Scope::kGroup, "ranks called different operations");
}

void Executor::finish_step(StepId step) {
  progress_[step] = Progress::kEnded;
  --left_;
  for (const StepId dependent : plan_->dependents(step)) {
    if (--waits_for_[dependent] == 0) make_ready(dependent);
  }
}

std::byte* Executor::at(Span span) {
  return buffers_[static_cast<std::size_t>(span.buffer)] + bytes(span.offset);
}

std::vector<int> Executor::awaited() const {
  std::vector<int> peers;
  if (plan_ == nullptr) return peers;
  for (StepId id = 0; id < plan_->plan().steps.size(); ++id) {
    const Step& step = plan_->plan().steps[id];
    if (progress_[id] == Progress::kBegun && step.peer >= 0) peers.push_back(step.peer);
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace paceline
