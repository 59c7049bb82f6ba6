// A value of each thread that outlives the thread's own variables.
#pragma once

namespace paceline::c_interface {

/// This thread's T. A thread that ends destroys its variables in the reverse order of their making,
/// and exit() does so before it runs handlers and destructors of static objects. A call by what is
/// destroyed later gets one T more of this thread, which is never destroyed.
template <class T>
T& of_thread() {
  [[gnu::tls_model("initial-exec")]] thread_local constinit bool is_over = false;
  [[gnu::tls_model("initial-exec")]] thread_local constinit T* after = nullptr;
  struct Own {
    ~Own() { is_over = true; }
    T value;
  };
  [[gnu::tls_model("initial-exec")]] thread_local Own own;
  if (!is_over) return own.value;
  if (after == nullptr) after = new T;
  return *after;
}

}  // namespace paceline::c_interface
