// The communicators and gradient pipelines that C programs of this process hold, so that one is not
// freed twice.
#pragma once

#include <paceline/paceline.h>
#include <paceline/pipeline.h>

namespace paceline::c_interface {

/// A new handle.
void enter_handle(plComm_t comm);
void enter_handle(plPipeline_t pipeline);
// In a forked child is_handle() and leave_handle() are always true: another thread of the parent
// may have held the lock.

/// Counts a call in comm->inside. Returns false, and counts nothing, unless comm is a handle.
/// Always false in a forked child.
bool enter_call(plComm_t comm);
/// True from enter_handle() to leave_handle().
bool is_handle(plComm_t comm);
bool is_handle(plPipeline_t pipeline);
/// True once for each handle that was entered.
bool leave_handle(plComm_t comm);
bool leave_handle(plPipeline_t pipeline);

}  // namespace paceline::c_interface
