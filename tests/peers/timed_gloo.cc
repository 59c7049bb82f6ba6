// Gloo over TCP in the loop of timed_loop.h; `paceline run` starts its ranks. They find each other
// by files in the folder GLOO_MEETING, by the address of eth0.
#include <cstdlib>
#include <memory>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "comm/base/environment.h"
#include "tests/peers/timed_loop.h"

int main(int argc, char** argv) {
  const paceline::Environment environment = paceline::read_environment().value();
  const int rank = environment.rank.value(), size = environment.world_size.value();
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  gloo::transport::tcp::attr between_hosts;
  between_hosts.iface = "eth0";
  auto device = gloo::transport::tcp::CreateDevice(between_hosts);
  gloo::rendezvous::FileStore store(std::getenv("GLOO_MEETING"));
  context->connectFullMesh(store, device);
  const auto barrier = [&context] {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
  };
  const auto all_reduce = [&context](std::span<float> values) {
    using Function = void (*)(void*, const void*, const void*, std::size_t);
    gloo::AllreduceOptions options(context);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(Function(&gloo::sum<float>));
    gloo::allreduce(options);
  };
  return paceline::peers::time_all_reduces(
      {.rank = rank, .size = size, .barrier = barrier, .all_reduce = all_reduce}, argc, argv);
}
