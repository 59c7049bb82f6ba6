// A rank whose neighbour on its host is killed: bereaved_rank SECONDS. The ranks of each host make
// a communicator of their own. So long after it has been made rank 1 of each ends itself by
// SIGKILL, while rank 0 waits for it, which prints
//   CODE rank R after S
// where S are the seconds from the death to the error, as far as that is known here.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <poll.h>

#include <paceline/communicator.h>

#include "comm/base/clock.h"

int main(int argc, char** argv) {
  using namespace paceline;
  if (argc != 2) {
    std::fputs("usage: bereaved_rank SECONDS\n", stderr);
    return 2;
  }
  const std::chrono::duration<double> life(std::atof(argv[1]));
  const SystemClock clock;
  std::signal(SIGTERM, SIG_IGN);  // the launcher ends the others of a job
  Communicator world = Communicator::init().value();
  const int host = std::atoi(std::getenv("GROUP_RANK"));
  Communicator part = world.split(host, world.rank()).value().value();
  part.barrier().value();
  if (part.rank() == 1) {
    ::poll(nullptr, 0, static_cast<int>(life.count() * 1000));
    std::raise(SIGKILL);
  }
  const TimePoint begin = clock.now();
  const Status status = part.barrier();
  const std::chrono::duration<double> after = clock.now() - begin - life;
  std::printf("%s rank %d after %.2f\n", std::string(name(status.code())).c_str(),
              status.culprit().rank, after.count());
}
