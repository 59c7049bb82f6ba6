// Rank 0 forks while other threads of it are inside operations: forked_rank exit|_exit. Each child
// makes every call of the C++ interface on objects of its parent, and each call must fail at once.
// Then the child ends, with `exit` by running all destructors. Sums on all ranks must stay right.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <paceline/buffer.h>
#include <paceline/communicator.h>
#include <paceline/gradient_pipeline.h>

namespace paceline {
namespace {

constexpr int kForks = 20;
constexpr unsigned kChildTimeoutS = 20;
constexpr auto kFloat = DataType::kFloat32;

// exit() destroys it, also in a child.
struct Everything {
  std::optional<Communicator> world, busy;
  std::optional<GradientPipeline> pipeline;
  Work ended, pending, left;  // the communicator of `left` has been destroyed
  Buffer buffer;
};
Everything& everything() {
  static Everything all;
  return all;
}

int bad = 0;
void complain(const std::string& what) {
  std::fprintf(stderr, "process %d: %s\n", ::getpid(), what.c_str());
  ++bad;
}

// ---- A child ----

void expect_refused(std::string_view call, const Status& status) {
  const std::string parent = "belongs to process " + std::to_string(::getppid());
  if (status.code() != Code::kInvalidArgument || status.text().find(parent) == std::string::npos ||
      status.text().find("was forked") == std::string::npos)
    complain(std::string(call) + ": " + (status.ok() ? "a success" : status.to_string()));
}

struct Arrays {
  std::array<float, 64> in{}, out{};
  std::array<std::size_t, 8> counts{1, 1, 1, 1, 1, 1, 1, 1};
};

void try_operations(Communicator& world, Arrays& a) {
  const auto counts = std::span(a.counts).first(static_cast<std::size_t>(world.size()));
  void* const out = a.out.data();
  const void* const in = a.in.data();
  const std::array messages = {Message::sent(in, 1, kFloat, 1)};
  const std::array tensors = {Tensor{in, out, 1}};
  const ReduceOp sum = ReduceOp::kSum;
  expect_refused("barrier", world.barrier());
  expect_refused("broadcast", world.broadcast(out, 1, kFloat, 0));
  expect_refused("reduce", world.reduce(in, out, 1, kFloat, sum, 0));
  expect_refused("all_reduce", world.all_reduce(in, out, 1, kFloat));
  expect_refused("a wrong all_reduce", world.all_reduce(nullptr, nullptr, 9, kFloat));
  expect_refused("all_reduce_many", world.all_reduce_many(tensors, kFloat));
  expect_refused("reduce_scatter", world.reduce_scatter(in, out, 1, kFloat));
  expect_refused("all_gather", world.all_gather(in, out, 1, kFloat));
  expect_refused("gather", world.gather(in, out, 1, kFloat, 0));
  expect_refused("scatter", world.scatter(in, out, 1, kFloat, 0));
  expect_refused("all_to_all", world.all_to_all(in, out, 1, kFloat));
  expect_refused("reduce_scatter_v", world.reduce_scatter_v(in, out, counts, kFloat));
  expect_refused("all_gather_v", world.all_gather_v(in, out, counts, kFloat));
  expect_refused("gather_v", world.gather_v(in, out, counts, kFloat, 0));
  expect_refused("scatter_v", world.scatter_v(in, out, counts, kFloat, 0));
  expect_refused("all_to_all_v", world.all_to_all_v(in, counts, out, counts, kFloat));
  expect_refused("send", world.send(in, 1, kFloat, 1));
  expect_refused("receive", world.receive(out, 1, kFloat, 1));
  expect_refused("exchange", world.exchange(messages));
  const Work works[] = {world.barrier_async(),
                        world.broadcast_async(out, 1, kFloat, 0),
                        world.reduce_async(in, out, 1, kFloat, sum, 0),
                        world.all_reduce_async(in, out, 1, kFloat),
                        world.all_reduce_many_async(tensors, kFloat),
                        world.reduce_scatter_async(in, out, 1, kFloat),
                        world.all_gather_async(in, out, 1, kFloat),
                        world.gather_async(in, out, 1, kFloat, 0),
                        world.scatter_async(in, out, 1, kFloat, 0),
                        world.all_to_all_async(in, out, 1, kFloat),
                        world.reduce_scatter_v_async(in, out, counts, kFloat),
                        world.all_gather_v_async(in, out, counts, kFloat),
                        world.gather_v_async(in, out, counts, kFloat, 0),
                        world.scatter_v_async(in, out, counts, kFloat, 0),
                        world.all_to_all_v_async(in, counts, out, counts, kFloat),
                        world.send_async(in, 1, kFloat, 1),
                        world.receive_async(out, 1, kFloat, 1),
                        world.exchange_async(messages)};
  for (const Work& work : works) {
    if (!work.test()) complain("an operation that was refused goes on");
    expect_refused("an operation in the background", work.wait());
  }
}

void try_communicator(Communicator& world) {
  Arrays arrays;
  try_operations(world, arrays);
  expect_refused("split", world.split(0, 0).status());
  expect_refused("set_timeout", world.set_timeout(std::chrono::seconds(1)));
  expect_refused("close", world.close());
  expect_refused("failure", world.failure());
  expect_refused("create", GradientPipeline::create(world, {{"a", 1}}).status());
  world.abort();
  if (world.stats().operations != 0) complain("a child has statistics");
  if (world.rank() != 0) complain("another rank");
}

void try_pipeline(GradientPipeline& pipeline) {
  const std::array<float, 100> gradient{};
  const std::vector<std::byte> state = pipeline.state();
  expect_refused("ready", pipeline.ready(0));
  expect_refused("ready of a copy", pipeline.ready(0, gradient.data()));
  expect_refused("wait of one", pipeline.wait(0));
  expect_refused("wait", pipeline.wait().status());
  expect_refused("join", pipeline.join().status());
  expect_refused("set_accumulating", pipeline.set_accumulating(true));
  expect_refused("set_frozen", pipeline.set_frozen(0, true));
  expect_refused("load_state", pipeline.load_state(state));
  if (pipeline.stats().steps != 0) complain("a child has statistics of a pipeline");
  (void)pipeline.describe();
}

void try_works() {
  for (const Work* work : {&everything().ended, &everything().pending, &everything().left}) {
    if (!work->test()) complain("an operation of the parent goes on");
    work->cancel();
    expect_refused("Work::wait", work->wait());
    expect_refused("Work::wait_for", work->wait_for(std::chrono::seconds(1)));
  }
}

[[noreturn]] void be_a_child(bool exits) {
  ::alarm(kChildTimeoutS);
  try_communicator(*everything().world);
  try_communicator(*everything().busy);
  try_pipeline(*everything().pipeline);
  try_works();
  expect_refused("over", GradientPipeline::over(std::move(*everything().busy), {}).status());
  everything().busy.reset();
  if (Buffer::allocate(4096).ok()) complain("a child makes a buffer");
  if (!exits) ::_exit(bad == 0 ? 0 : 1);
  std::exit(bad == 0 ? 0 : 1);
}

// ---- A rank ----

void expect_sum(Communicator& world, float own, float expected) {
  std::vector<float> values(1000, own);
  world.all_reduce(std::span(values)).value();
  for (const float one : values)
    if (one != expected) return complain("a sum is " + std::to_string(one));
}

// Repeats all-reduces until rank 0 wants to end, which it says in the last element.
void keep_busy(Communicator& busy, const std::atomic<bool>& is_over) {
  std::vector<float> values(5000);
  do {
    std::ranges::fill(values, 1.0F);
    values.back() = busy.rank() == 0 && is_over ? 1.0F : 0.0F;
    busy.all_reduce(std::span(values)).value();
    if (values.front() != static_cast<float>(busy.size())) complain("a sum beside the forks");
  } while (values.back() == 0);
}

void step(GradientPipeline& pipeline, int ranks) {
  std::ranges::fill(pipeline.gradient<float>(0), 3.0F);
  pipeline.ready(0).value();
  pipeline.wait().value();
  if (pipeline.gradient<float>(0)[99] != 3.0F) complain("a gradient of " + std::to_string(ranks));
}

void fork_some(bool exits) {
  for (int i = 0; i < kForks; ++i) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) be_a_child(exits);
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
      complain("a child has wait status " + std::to_string(status));
  }
}

int run(bool exits) {
  auto& [world, busy, pipeline, ended, pending, left, buffer] = everything();
  world = Communicator::init().value();
  busy = world->split(0, world->rank()).value();
  pipeline = GradientPipeline::create(*world, {{"a", 100}}).value();
  buffer = Buffer::allocate(10'000).value();
  std::vector<float> first(10, 1.0F), second(10, 1.0F);
  ended = world->all_reduce_async(std::span(first));
  ended.wait().value();
  {
    Communicator gone = world->split(0, world->rank()).value().value();
    left = gone.all_reduce_async(std::span(second));
    left.wait().value();
    gone.close().value();
  }
  step(*pipeline, world->size());
  std::atomic<bool> is_over{false};
  std::thread beside([&] { keep_busy(*busy, is_over); });
  second.assign(10, 1.0F);
  if (world->rank() == 0) {
    pending = world->all_reduce_async(std::span(second));
    fork_some(exits);
    is_over = true;
  }
  beside.join();
  if (world->rank() != 0) pending = world->all_reduce_async(std::span(second));
  pending.wait().value();
  const auto ranks = static_cast<float>(world->size());
  if (second[9] != ranks) complain("the sum that was on its way");
  expect_sum(*world, 1, ranks);
  expect_sum(*busy, 2, 2 * ranks);
  step(*pipeline, world->size());
  busy->close().value();
  world->close().value();
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  return paceline::run(argc > 1 && std::string_view(argv[1]) == "exit");
}
