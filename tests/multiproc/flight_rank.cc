// A rank that begins an operation, never ends it, and fails or hangs: flight_rank fail|hang.
#include <cstdio>
#include <string_view>

#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/environment.h"
#include "telemetry/flight_ring.h"

int main(int argc, char** argv) {
  using namespace paceline;
  const Environment environment = read_environment().value();
  const auto ring = FlightRing::open(environment.flight_fd.value_or(-1)).value();
  Signature signature{.sequence = 11, .count = 1000, .kind = OperationKind::kAllReduce};
  const TimePoint now = SystemClock().now();
  ring->start(signature, now);
  signature.sequence = 12;
  ring->start(signature, now);
  if (argc > 1 && std::string_view(argv[1]) == "fail" && environment.rank == 1) return 3;
  std::puts("ready");
  std::fflush(stdout);
  ::pause();
}
