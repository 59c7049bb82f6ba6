// Proves the plans of every algorithm that knows which ranks share a host, and their costs: on all
// equal maps of 2 to 8 hosts with 1 to 8 ranks each, on all maps of as many hosts with two
// different counts, and on 2,000 that a seed draws, whose ranks are in any order. Where there is a
// root, each set of plans has the next rank as its root.
//
//   host_maps_are_proven [--quick]    --quick: up to 4 hosts with 4 ranks each, and 100 drawn maps
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algo/algorithms.h"
#include "collectives/proof/check.h"
#include "comm/base/random.h"
#include "tests/harness/host_maps.h"
#include "tests/harness/plan_form.h"

namespace paceline::testing {
namespace {

struct Size {
  std::size_t count;
  std::size_t segment_count;
};
constexpr Size kSizes[] = {{1, 1}, {13, 2}, {97, 1000}, {1009, 50}};

std::string in_words(const HostNumbers& hosts) {
  std::string text;
  for (const int host : hosts) text += (text.empty() ? "" : " ") + std::to_string(host);
  return text;
}

class Prover {
 public:
  explicit Prover(std::span<const Size> sizes) : sizes_(sizes) {}

  /// False, after saying why, if a set of plans is wrong.
  bool prove(const std::vector<HostNumbers>& maps) {
    for (const HostNumbers& hosts : maps)
      for (const Algorithm& algorithm : algorithms())
        if (algorithm.knows_hosts)
          for (const Size& size : sizes_)
            if (!prove(algorithm, hosts, size)) return false;
    maps_ += maps.size();
    return true;
  }
  std::size_t maps() const { return maps_; }
  std::size_t sets() const { return sets_; }

 private:
  bool prove(const Algorithm& algorithm, const HostNumbers& hosts, const Size& size) {
    PlanRequest request{.kind = algorithm.kind,
                        .ranks = static_cast<int>(hosts.size()),
                        .segment_count = size.segment_count,
                        .hosts = &hosts};
    request.count = count_of_call(request, size.count);
    if (has_root(request.kind)) request.root = static_cast<int>(sets_) % request.ranks;
    const std::vector<PlanRequest> requests = uneven_requests(request);
    const std::vector<Plan> plans = plans_of(algorithm, requests);
    const Status status = check(plans, requests);
    const auto measured = measure(plans, &hosts);
    const bool priced =
        measured.ok() && is_price(algorithm.cost(requests.front()), *measured, request.kind);
    ++sets_;
    if (status.ok() && priced) return true;
    std::printf("%s of %s, root %d, hosts %s, count %zu, segments of %zu: %s\n",
                std::string(algorithm.name).c_str(), std::string(name(algorithm.kind)).c_str(),
                request.root, in_words(hosts).c_str(), request.count, request.segment_count,
                status.ok() ? "its cost differs from the formula" : status.to_string().c_str());
    return false;
  }

  const std::span<const Size> sizes_;
  std::size_t maps_ = 0;
  std::size_t sets_ = 0;
};

int run(bool quick) {
  const int most = quick ? 4 : 8, drawn = quick ? 100 : 2000;
  Prover all(kSizes);
  if (!all.prove(equal_maps(2, most, most))) return 1;
  std::printf("%zu equal maps\n", all.maps());
  std::fflush(stdout);
  Random random(1);
  std::vector<HostNumbers> maps;
  for (int i = 0; i < drawn; ++i) maps.push_back(random_map(random));
  if (!all.prove(maps)) return 1;
  std::printf("%d drawn maps\n", drawn);
  std::fflush(stdout);
  // There are 13,000 of them: one size that has several segments in each piece.
  const std::span<const Size> sizes = kSizes;
  Prover two(sizes.subspan(1, 1));
  if (!two.prove(maps_of_two_counts(2, most, most))) return 1;
  std::printf(
      "%zu maps of 2 to %d hosts: %zu sets of plans are proven, and cost what the formulas "
      "say\n",
      all.maps() + two.maps(), most, all.sets() + two.sets());
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  return paceline::testing::run(argc > 1 && std::string_view(argv[1]) == "--quick");
}
