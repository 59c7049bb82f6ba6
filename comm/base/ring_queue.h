// A queue in one piece of memory that is used again and again: where a std::deque allocates and
// frees as its elements move through memory, this allocates only when it grows.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace paceline {

/// T can be made empty and moved. One thread. What front() returns lives until it is popped or
/// anything is pushed.
template <class T>
class RingQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& front() { return places_[begin_]; }
  const T& front() const { return places_[begin_]; }

  /// An empty one, to be filled.
  T& push_back() {
    if (size_ == places_.size()) grow();
    return places_[(begin_ + size_++) & (places_.size() - 1)];
  }
  void pop_front() {
    places_[begin_] = T();
    begin_ = (begin_ + 1) & (places_.size() - 1);
    --size_;
  }

 private:
  void grow() {
    std::vector<T> larger(places_.empty() ? 4 : 2 * places_.size());  // a power of two
    for (std::size_t i = 0; i < size_; ++i)
      larger[i] = std::move(places_[(begin_ + i) & (places_.size() - 1)]);
    places_ = std::move(larger);
    begin_ = 0;
  }

  std::vector<T> places_;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace paceline
