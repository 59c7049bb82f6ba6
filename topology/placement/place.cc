#include "topology/placement/place.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "comm/base/assert.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/placement/cost/rounding.h"
#include "topology/placement/plan_maker.h"
#include "topology/placement/plan_words.h"
#include "topology/placement/search/search.h"

namespace paceline::topology {
namespace {

constexpr std::size_t kMostAlternatives = 2;
// With servers the search knows only nearly what its candidates cost: so many are looked at again.
constexpr std::size_t kMostFinalists = 6;
constexpr double kAsCheap = 1e-6;

Status does_not_fit(std::string text) {
  return {Code::kExhausted, Scope::kOperation, std::move(text)};
}

class Placing {
 public:
  Placing(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots)
      : cluster_(cluster),
        job_(job),
        links_(cluster),
        kinds_(cluster, job, links_),
        rules_(cluster, job, links_),
        slots_(slots) {}

  Result<Plan> place() {
    PACELINE_TRY(find_room());
    PACELINE_TRY(rules_.check(fewest_hosts()));
    Arranger arranger(kinds_, rules_, slots_);
    Found found = search(arranger);
    if (job_.servers > 0) PACELINE_TRY(look_again(found));
    PACELINE_TRY_ASSIGN(Plan plan, make_plan(kinds_, rules_, found.best));
    plan.reasons = reasons_for(cluster_, job_, slots_, found, plan);
    PACELINE_TRY(add_alternatives(found, plan));
    return plan;
  }

 private:
  // Slots that have as many cores as each rank is to have.
  Status find_room() {
    const auto sum = [this] {
      return std::accumulate(slots_.begin(), slots_.end(), std::int64_t{0});
    };
    for (int& slots : slots_) slots = std::clamp(slots, 0, job_.ranks);
    const std::string ranks = count_text(static_cast<std::size_t>(job_.ranks), "rank");
    if (sum() < job_.ranks)
      return does_not_fit("there are not enough slots for " + ranks + "; the hosts have " +
                          std::to_string(sum()));
    if (job_.cores_each <= 0) return {};
    for (std::size_t host = 0; host < slots_.size(); ++host)
      slots_[host] = std::min(slots_[host], kinds_.cores(static_cast<int>(host)) / job_.cores_each);
    if (sum() >= job_.ranks) return {};
    return does_not_fit("there are not enough cores for " + ranks + " with " +
                        std::to_string(job_.cores_each) + " each; the hosts have enough for " +
                        std::to_string(sum()));
  }

  int fewest_hosts() const {
    std::vector<int> slots = slots_;
    std::ranges::sort(slots, std::greater<>());
    int hosts = 0;
    for (int left = job_.ranks; left > 0; ++hosts) left -= slots[static_cast<std::size_t>(hosts)];
    return hosts;
  }

  // The candidates with servers on them.
  Status look_again(Found& found) {
    std::ranges::stable_sort(found.others, {},
                             [](const Candidate& one) { return one.arrangement.cost_us; });
    double best_us = 0;
    PACELINE_TRY_ASSIGN(const Plan first, make_plan(kinds_, rules_, found.best));
    best_us = first.cost_us;
    for (std::size_t i = 0; i < std::min(found.others.size(), kMostFinalists); ++i) {
      Candidate& other = found.others[i];
      if (!std::isfinite(other.arrangement.cost_us)) continue;
      PACELINE_TRY_ASSIGN(const Plan plan, make_plan(kinds_, rules_, other.arrangement));
      other.arrangement.cost_us = plan.cost_us;
      if (plan.cost_us >= best_us * (1 - kRounding)) continue;
      best_us = plan.cost_us;
      found.best = other.arrangement;
      found.is_proven = false;
    }
    return {};
  }

  // The cheapest that are others; those that cost as much come last, since they tell the least.
  Status add_alternatives(const Found& found, Plan& plan) {
    std::vector<Alternative> all;
    for (const Candidate& one : found.others)
      if (one.arrangement.host_of != found.best.host_of)
        offer(one.what, one.arrangement.cost_us, plan, all);
    if (job_.servers > 0) PACELINE_TRY(offer_other_servers(found, plan, all));
    const auto is_dearer = [&](const Alternative& one) {
      return one.cost_us > plan.cost_us * (1 + kAsCheap);
    };
    std::ranges::stable_sort(
        all, {}, [&](const Alternative& one) { return std::pair(!is_dearer(one), one.cost_us); });
    all.resize(std::min(all.size(), kMostAlternatives));
    plan.alternatives = std::move(all);
    return {};
  }

  // The same ranks, and those of the other candidates, with servers where this job has none.
  Status offer_other_servers(const Found& found, const Plan& plan,
                             std::vector<Alternative>& all) const {
    if (job_.servers_on == ServersOn::kHosts) return {};
    const bool is_spread = job_.servers_on == ServersOn::kSpread;
    JobShape other = job_;
    other.servers_on = is_spread ? ServersOn::kDedicated : ServersOn::kSpread;
    HostKinds kinds(cluster_, other, links_);
    const ServerRules rules(cluster_, other, links_);
    double best_us = std::numeric_limits<double>::infinity();
    std::vector<const Arrangement*> arrangements = {&found.best};
    for (const Candidate& one : found.others) arrangements.push_back(&one.arrangement);
    arrangements.resize(std::min(arrangements.size(), kMostFinalists));
    for (const Arrangement* const arrangement : arrangements) {
      if (!rules.split(arrangement->host_of)) continue;
      PACELINE_TRY_ASSIGN(const Plan planned, make_plan(kinds, rules, *arrangement));
      best_us = std::min(best_us, planned.cost_us);
    }
    offer(is_spread ? "servers only on hosts without ranks" : "servers also beside ranks", best_us,
          plan, all);
    return {};
  }

  static void offer(const std::string& what, double cost_us, const Plan& plan,
                    std::vector<Alternative>& all) {
    if (!std::isfinite(cost_us) || cost_us < plan.cost_us * (1 - kRounding)) return;
    const auto is_told = [&](const Alternative& one) {
      return std::abs(one.cost_us - cost_us) <= kAsCheap * cost_us;
    };
    if (std::ranges::any_of(all, is_told)) return;
    all.push_back(alternative(what, std::max(cost_us, plan.cost_us), plan));
  }

  static Alternative alternative(const std::string& what, double cost_us, const Plan& plan) {
    std::string text = what;
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    const double more = cost_us - plan.cost_us;
    text += more > plan.cost_us * kAsCheap ? ": " + time_text(more) + " more per step."
                                           : ": same cost.";
    return {.what = std::move(text), .cost_us = cost_us};
  }

  const Cluster& cluster_;
  const JobShape& job_;
  const HostLinks links_;
  HostKinds kinds_;
  const ServerRules rules_;
  std::vector<int> slots_;
};

}  // namespace

Result<Plan> place(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots) {
  PACELINE_ASSERT(slots.size() == cluster.hosts.size() && !job.dimensions.empty());
  return Placing(cluster, job, slots).place();
}

}  // namespace paceline::topology
