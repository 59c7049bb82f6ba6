#include "collectives/c_interface/handles.h"

#include <mutex>
#include <unordered_set>

#include "collectives/c_interface/calls.h"
#include "comm/base/process_mark.h"

namespace paceline::c_interface {
namespace {

// Never destroyed: static objects of the program may free handles later.
struct Handles {
  const ProcessMark made_in;
  std::mutex mutex;  // guards `all`
  std::unordered_set<plComm_t> all;
};
Handles& handles() {
  static Handles& only = *new Handles;
  return only;
}

}  // namespace

void enter_handle(plComm_t comm) {
  Handles& known = handles();
  if (!known.made_in.is_of_this_process()) return;
  const std::lock_guard lock(known.mutex);
  known.all.insert(comm);
}

bool is_handle(plComm_t comm) {
  Handles& known = handles();
  if (!known.made_in.is_of_this_process()) return true;
  const std::lock_guard lock(known.mutex);
  return known.all.contains(comm);
}

bool enter_call(plComm_t comm) {
  Handles& known = handles();
  if (!known.made_in.is_of_this_process()) return false;
  const std::lock_guard lock(known.mutex);
  if (!known.all.contains(comm)) return false;
  comm->inside.fetch_add(1);
  return true;
}

bool leave_handle(plComm_t comm) {
  Handles& known = handles();
  if (!known.made_in.is_of_this_process()) return true;
  const std::lock_guard lock(known.mutex);
  return known.all.erase(comm) > 0;
}

}  // namespace paceline::c_interface
