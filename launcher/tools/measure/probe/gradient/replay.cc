#include "launcher/tools/measure/probe/gradient/replay.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include <paceline/communicator.h>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "launcher/tools/measure/probe/gradient/gradient_rows.h"
#include "launcher/tools/measure/probe/gradient/reducer.h"
#include "launcher/tools/measure/probe/gradient/site.h"
#include "launcher/tools/measure/probe/gradient/stand_in.h"
#include "launcher/tools/measure/probe/gradient/timeline.h"
#include "launcher/tools/measure/probe/gradient/trace.h"
#include "launcher/tools/measure/probe/gradient/turn_taking.h"
#include "launcher/tools/measure/probe/gradient/wire_meter.h"

namespace paceline::probe {
namespace {

double us_of(Duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

// Of all threads of this process.
double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// Whole numbers of which each rank has another and the average is known: value_of(…) of rank r is
// the average plus something that is nothing over all ranks. All are multiples of the number of
// ranks, so that also who divides first makes no error.
struct Pattern {
  int rank, ranks;

  float average(std::size_t tensor, std::size_t element) const {
    constexpr std::size_t kValues = 61;
    return static_cast<float>(ranks * static_cast<int>((tensor + element) % kValues));
  }
  float own(std::size_t tensor, std::size_t element) const {
    return average(tensor, element) + static_cast<float>(ranks * (2 * rank - (ranks - 1)));
  }
};

// Of gradients: how many are drawn, which stand again and again in the larger ones, and how large.
constexpr std::size_t kDrawn = std::size_t{1} << 18;
constexpr double kSpread = 1e-3;

class Replay {
 public:
  Replay(Communicator& world, const TurnTaking& turns, const GradientOrders& orders,
         const Trace& trace)
      : world_(world),
        turns_(turns),
        orders_(orders),
        trace_(trace),
        timeline_(timeline_of(trace, orders.compute_us)),
        stand_in_(make_stand_in(orders, clock_)) {}

  Status run() {
    PACELINE_TRY_ASSIGN(reducer_, make_reducer(world_, trace_, orders_));
    fill_gradients();
    PACELINE_TRY(take_steps(orders_.warm_ups).status());
    for (int turn = 0; turn < orders_.turns; ++turn) {
      PACELINE_TRY(turns_.pass_and_await());
      PACELINE_TRY_ASSIGN(const std::vector<StepRow> rows, take_steps(orders_.steps));
      turns_.say(kTurnLine);
      PACELINE_TRY(publish(rows));
    }
    PACELINE_TRY(turns_.pass_and_await());
    PACELINE_TRY_ASSIGN(const double error, verify());
    turns_.say(verified_line(error));
    turns_.say(kPassedLine);
    return Status();
  }

 private:
  Result<std::vector<StepRow>> take_steps(int count) {
    std::vector<StepRow> rows;
    for (int i = 0; i < count; ++i) {
      PACELINE_TRY_ASSIGN(const StepRow row, step());
      rows.push_back(row);
      turns_.say(kAliveLine);
    }
    return rows;
  }

  // By Laplace's distribution, each rank's its own: codecs are chosen by what gradients are like.
  void fill_gradients() {
    Random random(static_cast<std::uint64_t>(world_.rank()));
    std::vector<float> drawn(kDrawn);
    for (float& value : drawn) {
      const double side = random.chance(0.5) ? kSpread : -kSpread;
      value = static_cast<float>(side * std::log(1 - random.unit()));
    }
    for (std::size_t i = 0; i < trace_.tensors.size(); ++i) {
      const std::span<float> gradient = reducer_->gradient(i);
      for (std::size_t done = 0; done < gradient.size();) {
        const std::size_t from = random.below(drawn.size());
        const std::size_t count = std::min(drawn.size() - from, gradient.size() - done);
        std::copy_n(&drawn[from], count, &gradient[done]);
        done += count;
      }
    }
  }

  // Ranks begin together, as nearly as a barrier lets them.
  Result<StepRow> step() {
    PACELINE_TRY(world_.barrier());
    const double cpu_before = cpu_us(), own_before = us_of(reducer_->own_cpu());
    const std::uint64_t sent_before = reducer_->bytes_sent();
    const TimePoint begin = clock_.now();
    stand_in_->begin();
    stand_in_->compute(timeline_.forward_us);
    for (std::size_t i = trace_.tensors.size(); i-- > 0;) {
      stand_in_->compute(timeline_.backward_us[i]);
      PACELINE_TRY(reducer_->ready(i));
    }
    const TimePoint computed = clock_.now();
    PACELINE_TRY(reducer_->wait());
    const TimePoint end = clock_.now();
    return StepRow{.step_us = us_of(end - begin),
                   .compute_us = us_of(computed - begin),
                   .cpu_us = cpu_us() - cpu_before,
                   .own_cpu_us = us_of(reducer_->own_cpu()) - own_before,
                   .sent_bytes = static_cast<double>(reducer_->bytes_sent() - sent_before)};
  }

  // Of all ranks: the longest times and the most bytes, and the mean of the CPU's. What is exposed
  // counts from where the last rank has computed: what others wait for it is its lateness.
  Status publish(const std::vector<StepRow>& rows) {
    std::vector<double> most, sums;
    for (const StepRow& row : rows) {
      most.insert(most.end(), {row.step_us, row.compute_us, row.own_cpu_us, row.sent_bytes});
      sums.push_back(row.cpu_us);
    }
    PACELINE_TRY(world_.all_reduce(std::span(most), ReduceOp::kMax));
    PACELINE_TRY(world_.all_reduce(std::span(sums), ReduceOp::kAvg));
    for (std::size_t i = 0; i < rows.size(); ++i)
      turns_.say(to_line(StepRow{.step_us = most[4 * i],
                                 .compute_us = most[4 * i + 1],
                                 .exposed_us = most[4 * i] - most[4 * i + 1],
                                 .cpu_us = sums[i],
                                 .own_cpu_us = most[4 * i + 2],
                                 .sent_bytes = most[4 * i + 3]}));
    return Status();
  }

  // Of a step that nobody measures: how far all averages together are from what they have to be.
  Result<double> verify() {
    const Pattern pattern{.rank = world_.rank(), .ranks = world_.size()};
    for (std::size_t i = trace_.tensors.size(); i-- > 0;) {
      const std::span<float> gradient = reducer_->gradient(i);
      for (std::size_t k = 0; k < gradient.size(); ++k) gradient[k] = pattern.own(i, k);
      PACELINE_TRY(reducer_->ready(i));
    }
    PACELINE_TRY(reducer_->wait());
    double squares = 0, wrong = 0;
    for (std::size_t i = 0; i < trace_.tensors.size(); ++i) {
      const std::span<const float> gradient = reducer_->gradient(i);
      for (std::size_t k = 0; k < gradient.size(); ++k) {
        const double wanted = pattern.average(i, k), off = gradient[k] - wanted;
        squares += wanted * wanted;
        wrong += off * off;
      }
    }
    std::vector<double> error{std::sqrt(wrong / squares)};
    PACELINE_TRY(world_.all_reduce(std::span(error), ReduceOp::kMax));
    return error[0];
  }

  const SystemClock clock_;
  Communicator& world_;
  const TurnTaking& turns_;
  const GradientOrders& orders_;
  const Trace& trace_;
  const Timeline timeline_;
  const std::unique_ptr<StandIn> stand_in_;
  std::unique_ptr<Reducer> reducer_;
};

// Counts and times, for a program that replays the same trace through another library.
void show(const Trace& trace, double compute_us) {
  const Timeline timeline = timeline_of(trace, compute_us);
  std::printf("forward %.9g\n", timeline.forward_us);
  for (std::size_t i = 0; i < trace.tensors.size(); ++i)
    std::printf("tensor %s %zu %.9g\n", trace.tensors[i].name.c_str(), trace.tensors[i].count,
                timeline.backward_us[i]);
}

Status measure(Communicator& world, const TurnTaking& turns) {
  const SystemClock clock;
  PACELINE_TRY_ASSIGN(const SiteRow site, measure_site(world, clock));
  turns.say(to_line(site));
  return Status();
}

Status measure_in_turn(Communicator& world, const TurnTaking& turns, int count) {
  const SystemClock clock;
  PACELINE_TRY_ASSIGN(WireMeter meter, WireMeter::make(world, clock));
  for (int turn = 0; turn < count; ++turn) {
    PACELINE_TRY(turns.pass_and_await());
    PACELINE_TRY_ASSIGN(const WireRate wire, meter.measure(1));
    turns.say(to_line(wire));
  }
  // Averages are verified in the last round: there is nothing to do.
  PACELINE_TRY(turns.pass_and_await());
  turns.say(kPassedLine);
  return Status();
}

Status follow(Communicator& world, const GradientOrders& orders, const Trace& trace) {
  const TurnTaking turns(world, std::chrono::seconds(orders.timeout_s));
  switch (orders.task) {
    case GradientTask::kReplay:
      return Replay(world, turns, orders, trace).run();
    case GradientTask::kMeasure:
      return measure(world, turns);
    case GradientTask::kWire:
      return measure_in_turn(world, turns, orders.turns);
    case GradientTask::kShow:
      break;
  }
  return Status();
}

}  // namespace

Status run_gradient(const GradientOrders& orders) {
  const Trace trace = scaled(find_trace(orders.trace).value(), orders.scale);
  if (orders.task == GradientTask::kShow) {
    show(trace, orders.compute_us);
    return Status();
  }
  PACELINE_TRY_ASSIGN(Communicator world, Communicator::init());
  PACELINE_TRY(world.set_timeout(std::chrono::seconds(orders.timeout_s)));
  PACELINE_TRY(follow(world, orders, trace));
  return world.close();
}

}  // namespace paceline::probe
