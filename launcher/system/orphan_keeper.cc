#include "launcher/system/orphan_keeper.h"

#include "comm/base/try.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr Duration kClearingUp = std::chrono::seconds(6);  // a spawn helper's sweep takes up to 5
constexpr Duration kSweep = std::chrono::seconds(2);

}  // namespace

Result<std::unique_ptr<OrphanKeeper>> OrphanKeeper::start(const Clock& clock) {
  if (!children().empty()) return std::unique_ptr<OrphanKeeper>();
  PACELINE_TRY(adopt_orphans());
  return std::unique_ptr<OrphanKeeper>(new OrphanKeeper(clock));
}

OrphanKeeper::~OrphanKeeper() {
  if (end_descendants(clock_, Deadline::after(clock_, kClearingUp), spared_group_).ok()) return;
  const Status status = end_descendants(clock_, Deadline::after(clock_, kSweep));
  if (!status.ok()) report("head", status);
}

}  // namespace paceline::launcher
