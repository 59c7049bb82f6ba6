#include "collectives/c_interface/handles.h"

#include <mutex>
#include <unordered_set>

#include "collectives/c_interface/calls.h"
#include "comm/base/process_mark.h"

namespace paceline::c_interface {
namespace {

// Those of one type, because a freed address may come back as another type.
template <class Handle>
struct Handles {
  const ProcessMark made_in;
  std::mutex mutex;  // guards `all`
  std::unordered_set<Handle> all;
};
// Never destroyed: static objects of the program may free handles later.
template <class Handle>
Handles<Handle>& handles() {
  static Handles<Handle>& only = *new Handles<Handle>;
  return only;
}

template <class Handle>
void enter(Handle handle) {
  Handles<Handle>& known = handles<Handle>();
  if (!known.made_in.is_of_this_process()) return;
  const std::lock_guard lock(known.mutex);
  known.all.insert(handle);
}

template <class Handle>
bool is_known(Handle handle) {
  Handles<Handle>& known = handles<Handle>();
  if (!known.made_in.is_of_this_process()) return true;
  const std::lock_guard lock(known.mutex);
  return known.all.contains(handle);
}

template <class Handle>
bool leave(Handle handle) {
  Handles<Handle>& known = handles<Handle>();
  if (!known.made_in.is_of_this_process()) return true;
  const std::lock_guard lock(known.mutex);
  return known.all.erase(handle) > 0;
}

}  // namespace

void enter_handle(plComm_t comm) { enter(comm); }
void enter_handle(plPipeline_t pipeline) { enter(pipeline); }

bool is_handle(plComm_t comm) { return is_known(comm); }
bool is_handle(plPipeline_t pipeline) { return is_known(pipeline); }

bool leave_handle(plComm_t comm) { return leave(comm); }
bool leave_handle(plPipeline_t pipeline) { return leave(pipeline); }

bool enter_call(plComm_t comm) {
  Handles<plComm_t>& known = handles<plComm_t>();
  if (!known.made_in.is_of_this_process()) return false;
  const std::lock_guard lock(known.mutex);
  if (!known.all.contains(comm)) return false;
  comm->inside.fetch_add(1);
  return true;
}

}  // namespace paceline::c_interface
