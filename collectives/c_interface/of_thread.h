// A value of each thread that outlives the thread's own variables.
#pragma once

namespace paceline::c_interface {

/// This thread's T. exit() destroys the variables of its thread before it runs handlers and
/// destructors of static objects: what those call gets one T more, which is never destroyed. One
/// thread at a time runs them.
template <class T>
T& of_thread() {
  thread_local constinit bool is_over = false;
  struct Own {
    ~Own() { is_over = true; }
    T value;
  };
  thread_local Own own;
  if (!is_over) return own.value;
  static T* const after = new T;
  return *after;
}

}  // namespace paceline::c_interface
