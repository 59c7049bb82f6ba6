// All-reduce as a program would put it together of other operations, which the operation itself
// must not take longer than: Träff, Gropp, Thakur, "Self-Consistent MPI Performance Guidelines",
// IEEE TPDS 21(5), 2010.
#pragma once

#include <span>
#include <string_view>

#include "launcher/tools/measure/probe/loop/subject.h"

namespace paceline::probe {

/// Its all_reduce is in parts; all else is the whole's.
class InParts final : public Subject {
 public:
  /// One call after the other, each waited for.
  using Parts = Status (*)(Subject& whole, const Call& call);

  /// Borrowed. `parts` comes from find().
  InParts(Subject& whole, Parts parts) : whole_(whole), parts_(parts) {}

  /// "reduce+broadcast", and "reduce_scatter+all_gather", of which the count has to be a multiple
  /// of the ranks.
  static std::span<const std::string_view> names();
  /// Null where there are none of this name.
  static Parts find(std::string_view name);

  int rank() const override { return whole_.rank(); }
  int size() const override { return whole_.size(); }
  Result<std::byte*> allocate(std::size_t bytes) override { return whole_.allocate(bytes); }
  bool is_addressable() const override { return whole_.is_addressable(); }
  Status write(void* to, const void* from, std::size_t bytes) override {
    return whole_.write(to, from, bytes);
  }
  Status read(void* to, const void* from, std::size_t bytes) override {
    return whole_.read(to, from, bytes);
  }
  Status call(const Call& call) override {
    return call.kind == OperationKind::kAllReduce ? parts_(whole_, call) : whole_.call(call);
  }

 private:
  Subject& whole_;
  const Parts parts_;
};

}  // namespace paceline::probe
