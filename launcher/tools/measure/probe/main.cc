// paceline-probe: one rank that measures Paceline, or the loop without it, or hosts and the ways
// between them, or that replays a training step.
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <paceline/communicator.h>

#include "comm/base/clock.h"
#include "comm/base/cpus.h"
#include "comm/base/environment.h"
#include "comm/base/try.h"
#include "launcher/tools/measure/probe/check/check_orders.h"
#include "launcher/tools/measure/probe/check/check_rank.h"
#include "launcher/tools/measure/probe/check/gpu_facts.h"
#include "launcher/tools/measure/probe/gradient/gradient_orders.h"
#include "launcher/tools/measure/probe/gradient/replay.h"
#include "launcher/tools/measure/probe/loop/gpu.h"
#include "launcher/tools/measure/probe/loop/in_parts.h"
#include "launcher/tools/measure/probe/loop/library.h"
#include "launcher/tools/measure/probe/loop/orders.h"
#include "launcher/tools/measure/probe/loop/rank.h"
#include "launcher/tools/measure/probe/raw/raw_loop.h"

namespace paceline::probe {
namespace {

// An array for what goes in and one for what comes out.
std::size_t buffer_bytes(const Orders& orders) {
  constexpr std::size_t kPage = 4096;
  return 2 * (orders.sizes().back() + kPage);
}

Status measure_raw(const Orders& orders) {
  const SystemClock clock;
  PACELINE_TRY_ASSIGN(const Environment environment, read_environment());
  const RawLoop::Place place{.rank = environment.rank.value_or(0),
                             .ranks = environment.world_size.value_or(1),
                             .cpus = allowed_cpus(host_cpus(environment)),
                             .buffer_bytes = orders.registered ? buffer_bytes(orders) : 0};
  PACELINE_TRY_ASSIGN(const auto raw, RawLoop::open(orders.raw, place, clock));
  return measure_all(*raw, orders);
}

Status check(std::span<const std::string> words) {
  PACELINE_TRY_ASSIGN(const CheckOrders orders, parse_check_orders(words));
  GpuReader gpus;  // before init() makes threads
  PACELINE_TRY_ASSIGN(Communicator world, Communicator::init());
  return run_check(world, orders, gpus);
}

Status replay(std::span<const std::string> words) {
  PACELINE_TRY_ASSIGN(const GradientOrders orders, parse_gradient_orders(words));
  return run_gradient(orders);
}

Status measure(std::span<const std::string> words) {
  if (!words.empty() && words[0] == kCheckMode) return check(words.subspan(1));
  if (!words.empty() && words[0] == kGradientMode) return replay(words.subspan(1));
  PACELINE_TRY_ASSIGN(const Orders orders, parse_orders(words));
  if (!orders.raw.empty()) return measure_raw(orders);
  PACELINE_TRY_ASSIGN(Communicator communicator, Communicator::init());
  std::unique_ptr<Gpu> gpu;
  if (orders.on_gpu) {
    PACELINE_TRY_ASSIGN(gpu, Gpu::choose(communicator.rank()));  // of one host
  }
  Library library(communicator, orders.registered, gpu.get());
  if (orders.parts.empty()) {
    PACELINE_TRY(measure_all(library, orders));
  } else {
    InParts in_parts(library, InParts::find(orders.parts));
    PACELINE_TRY(measure_all(in_parts, orders));
  }
  return communicator.close();
}

constexpr const char* kHelp =
    "usage: paceline run -n N -- paceline-probe [check|gradient] [name=value…]\n"
    "A rank of `paceline bench`, which measures an operation. The word check makes it a rank of\n"
    "`paceline check`, the word gradient one of `paceline bench gradient`. Its output is for\n"
    "these commands. Without `meeting=FILE` ranks synchronise by operations of the measured\n"
    "library.";

}  // namespace
}  // namespace paceline::probe

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    std::puts(paceline::probe::kHelp);
    return 0;
  }
  const paceline::Status status = paceline::probe::measure(words);
  if (status.ok()) return 0;
  std::fprintf(stderr, "paceline-probe: %s\n", status.to_string().c_str());
  return 1;
}
