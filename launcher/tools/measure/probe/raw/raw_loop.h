// The operations by hand: flags, copies and sums in shared memory, without the library. It shows
// what the machine allows; it asks nobody whether ranks agree, and knows no failure but silence.
//
//   all_reduce, up to 2 KiB    each rank writes packets of 56 bytes and a number; all read all
//               up to 32 KiB   each writes a post and raises a count; all read all (where caches
//                              are near, from 112 bytes on: it is tried at the start)
//               beyond         pieces; each rank reduces its part of a piece and gives it to all:
//                              writing piece k, reducing k - 1 and collecting k - 2 overlap
//               in buffers     beyond 32 KiB, where all ranks reach each other's arrays: each rank
//                              reduces its part of them and writes it into all
//   broadcast                  letters (packets), or pieces in slots, as far ahead as slots go
//   barrier                    each rank raises its count and looks at the others'
#pragma once

#include <memory>
#include <string>

#include "comm/base/clock.h"
#include "launcher/tools/measure/probe/loop/patience.h"
#include "launcher/tools/measure/probe/loop/shared_file.h"
#include "launcher/tools/measure/probe/loop/subject.h"
#include "launcher/tools/measure/probe/raw/raw_area.h"

namespace paceline::probe {

class RawLoop final : public SmallSubject {
 public:
  struct Place {
    int rank = 0;
    int ranks = 1;
    int cpus = 1;
    std::size_t buffer_bytes = 0;  ///< that allocate() has to give; others reach all of it
  };
  /// Collective. `path`: a shared file that is empty at first. `clock` is borrowed.
  static Result<std::unique_ptr<RawLoop>> open(const std::string& path, Place place,
                                               const Clock& clock);

  int rank() const override { return place_.rank; }
  int size() const override { return place_.ranks; }
  /// All ranks allocate the same in the same order.
  Result<std::byte*> allocate(std::size_t bytes) override;

 private:
  Status run_barrier() override;
  Status run_broadcast(Elements buffer, int root) override;
  Status run_all_reduce(const void* in, Elements out, ReduceOp op) override;

  RawLoop(SharedFile file, Place place, const Clock& clock);

  RawArea& area(int rank) { return areas_[rank]; }
  RawArea& mine() { return areas_[place_.rank]; }
  bool wait_for(const std::atomic<std::uint64_t>& count, std::uint64_t value) const;
  Status late() const;

  Status choose_packets(const Clock& clock);
  Result<Duration> try_exchanges(const Clock& clock, std::size_t packeted);
  Status exchange_packets(Elements out, ReduceOp op);
  Status exchange_posts(Elements out, ReduceOp op);
  Status reduce_pieces(Elements out, ReduceOp op);
  bool is_in_buffers(const void* data) const;
  Status reduce_in_buffers(const void* in, Elements out, ReduceOp op);
  std::byte* buffers(int rank) const;
  void give_piece(Elements piece, std::uint64_t number);
  bool reduce_piece(Elements piece, std::uint64_t number, ReduceOp op);
  bool collect_piece(Elements piece, std::uint64_t number);
  bool all_received(std::uint64_t number);
  Status send_letter(Elements buffer);
  Status read_letter(Elements buffer, int root);
  Status send_pieces(Elements buffer);
  Status receive_pieces(Elements buffer, int root);

  const SharedFile file_;
  const Place place_;
  const Patience patience_;
  RawArea* const areas_;
  std::size_t allocated_bytes_ = 0;
  std::size_t packeted_ = kMaxPacketed;  // how many bytes go as packets
  std::uint64_t barriers_ = 0;
  std::uint64_t exchanges_ = 0;
  std::uint64_t posts_ = 0;
  std::uint64_t pieces_ = 0;      // of all all-reduces before
  std::uint64_t reductions_ = 0;  // in buffers
  std::uint64_t broadcasts_ = 0;  // letters and pieces of all broadcasts before
};

}  // namespace paceline::probe
