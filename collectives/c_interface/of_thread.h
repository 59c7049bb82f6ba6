// One value per thread that can be used after the thread's own variables are destroyed.
#pragma once

namespace paceline::c_interface {

/// This thread's T. The thread's variables are destroyed when it ends; exit() destroys them before
/// it runs exit handlers and destructors of static objects. Code that runs later on this thread
/// gets a second T, which is never destroyed.
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
