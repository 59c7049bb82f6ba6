// Ranks that send each other many random messages at once: message_rank SEED EXCHANGES. First by
// Communicator::exchange(), then by the C interface between plGroupStart() and plGroupEnd().
#include <cstdio>
#include <cstdlib>

#include <paceline/communicator.h>
#include <paceline/paceline.h>

#include "tests/harness/message_trial.h"

int main(int argc, char** argv) {
  using namespace paceline;
  if (argc != 3) return 2;
  Communicator world = Communicator::init().value();
  plUniqueId id;
  if (world.rank() == 0 && plGetUniqueId(&id) != plSuccess) return 3;
  world.broadcast(&id, sizeof id, DataType::kUInt8, 0).value();
  plComm_t comm = nullptr;
  if (plCommInitRank(&comm, world.size(), id, world.rank()) != plSuccess) return 3;
  const testing::MessageTrial trial{.rank = world.rank(),
                                    .ranks = world.size(),
                                    .seed = std::strtoull(argv[1], nullptr, 10),
                                    .exchanges = std::atoi(argv[2])};
  Status status = testing::run_message_trial(
      trial, [&](std::span<const Message> messages) { return world.exchange(messages); });
  if (status.ok()) status = testing::run_message_trial(trial, testing::exchange_in_c(comm));
  if (status.ok()) status = world.close();
  if (!status.ok()) std::printf("%s\n", status.to_string().c_str());
  return status.ok() && plCommFinalize(comm) == plSuccess && plCommDestroy(comm) == plSuccess ? 0
                                                                                              : 1;
}
