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
  FlightRecord record;
  record.signature.sequence = 11;
  record.began_ns = SystemClock().now().time_since_epoch().count();
  record.signature.count = 1000;
  record.signature.kind = OperationKind::kAllReduce;
  ring->start(record);
  record.signature.sequence = 12;
  ring->start(record);
  if (argc > 1 && std::string_view(argv[1]) == "fail" && environment.rank == 1) return 3;
  std::puts("ready");
  std::fflush(stdout);
  ::pause();
}
