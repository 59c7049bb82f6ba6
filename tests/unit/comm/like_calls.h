// Two declarations of a call of C agree if each parameter has the same size, and is a pointer in
// both or in none.
#pragma once

#include <type_traits>

namespace paceline::testing {

template <class One, class Other>
constexpr bool kIsAlike =
    sizeof(One) == sizeof(Other) && std::is_pointer_v<One> == std::is_pointer_v<Other>;

/// Both results are enumerations or int.
template <class Ours, class Theirs, class... OurParameters, class... TheirParameters>
constexpr bool are_alike(Ours (*)(OurParameters...), Theirs (*)(TheirParameters...)) {
  if constexpr (sizeof...(OurParameters) != sizeof...(TheirParameters)) {
    return false;
  } else {
    return kIsAlike<Ours, Theirs> && (kIsAlike<OurParameters, TheirParameters> && ...);
  }
}

}  // namespace paceline::testing
