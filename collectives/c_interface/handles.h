// The communicators that C programs of this process hold, so that one is not freed twice.
#pragma once

#include <paceline/paceline.h>

namespace paceline::c_interface {

/// A new handle.
void enter_handle(plComm_t comm);
// In a forked child the next two are always true: another thread of the parent may have held the
// lock.

/// Counts a call in comm->inside. Returns false, and counts nothing, unless comm is a handle.
bool enter_call(plComm_t comm);
/// True from enter_handle() to leave_handle().
bool is_handle(plComm_t comm);
/// True once for each handle that was entered.
bool leave_handle(plComm_t comm);

}  // namespace paceline::c_interface
