// A borrowed callable: two words, no allocation. It must not outlive what it refers to, so it is
// for parameters only.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace paceline {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_invocable_r_v<R, F&, Args...>) FunctionRef(F&& callable)
      : object_(address_of(callable)), call_([](void* object, Args... args) -> R {
          using Callable = std::remove_reference_t<F>;
          return (*reinterpret_cast<Callable*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  // Functions have addresses of their own kind, which POSIX lets pass through void*.
  template <class F>
  static void* address_of(F& callable) {
    if constexpr (std::is_function_v<F>) {
      return reinterpret_cast<void*>(&callable);
    } else {
      return const_cast<void*>(static_cast<const void*>(std::addressof(callable)));
    }
  }

  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace paceline
