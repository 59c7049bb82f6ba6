// PowerSGD: a bucket as a matrix M of nearly as many rows as columns, approximated by P × Q^T of a
// low rank r. Source: Vogels, Karimireddy, Jaggi, "PowerSGD", NeurIPS 2019.
//
//   PowerSgd codec(count, 4, seed);              // alike on all ranks
//   all_reduce(codec.project(in, residual));     // P = M Q, rows × r
//   all_reduce(codec.back_project(in, residual));  // Q = M^T P, columns × r
//   codec.expand(out);                           // P Q^T: near the sum of all ranks' M
//
// One step of power iteration for each reduction: P's columns are made orthonormal between, and
// the next reduction begins with the Q where this one ended. What is lost on a rank, M - P Q^T with
// the rank's own Q, stays in its residual: all ranks' residuals sum to what the sum has lost.
//
// All ranks compute the same from what has been reduced: loops are in plain C++, for vectors that
// all processors of this kind have, so that a sum is not rounded here and fused there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline {

/// Elements by rows; the last row may be short, and there are zeros where it ends.
struct MatrixShape {
  std::size_t rows = 0, columns = 0, rank = 0;

  /// Rank is at most rows and columns.
  static MatrixShape of(std::size_t count, std::size_t rank);
  /// What travels of it, of P and Q together, in float32.
  std::size_t floats() const { return (rows + columns) * rank; }
  bool operator==(const MatrixShape&) const = default;
};

/// Not for use by two threads at a time. The three functions are called in turn.
class PowerSgd {
 public:
  PowerSgd(std::size_t count, std::size_t rank, std::uint64_t seed);

  const MatrixShape& shape() const { return shape_; }

  /// M is in[i] + residual[i], or in[i] where there is no residual. What it returns is to be summed
  /// over the ranks in its place before back_project(), and what that returns before expand().
  std::span<float> project(const float* in, const float* residual);
  /// `residual` becomes what is lost, but stays what it was where P is not finite.
  std::span<float> back_project(const float* in, float* residual);
  /// False where the sum is not finite: then nor is anything in `out`, and the next reduction
  /// begins as the first one did. `out` may be what was `in`.
  bool expand(float* out);

  /// Q, where the next reduction begins: to be saved with the residual.
  std::span<const float> basis() const { return basis_; }
  /// False where that is no basis of this shape.
  bool set_basis(std::span<const float> basis);

 private:
  // Columns lie one behind the other.
  void load_row(const float* in, const float* residual, std::size_t row);
  void begin_anew();
  void keep_basis();

  std::size_t count_;
  std::uint64_t seed_;
  MatrixShape shape_;
  std::vector<float> p_, q_, basis_, row_;
};

}  // namespace paceline
