// PowerSGD: approximates a matrix M, made of a gradient or some of its rows, by P × Q^T of a low
// rank r. Source: Vogels, Karimireddy, Jaggi, "PowerSGD", NeurIPS 2019.
//
//   PowerSgd codec(shape, basis, seed);         // equal on all ranks
//   codec.project(in, residual, p);             // P = M × basis, rows × r
//   all_reduce(p);
//   codec.back_project(in, residual, lost, p, q);   // Q = M^T P, columns × r
//   all_reduce(q);
//   codec.expand(p, q, out);                    // P Q^T: near the sum of all ranks' M
//
// Each reduction is one step of power iteration. Between the two all-reduces the columns of P are
// made orthonormal. The next reduction starts from the Q of this one, which becomes the basis. The
// error of a rank is M - P Q^T with the rank's own Q; it is the residual of its next step. The sum
// of these errors over all ranks is the error of the sum.
//
// All ranks compute the same bits from the reduced P and Q. So loops are plain C++ for vectors that
// all processors of this kind have: no processor fuses a multiplication and an addition that
// another one rounds separately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline {

/// Elements by rows. Of a gradient that was cut inside of its rows the first one lacks its
/// beginning and the last one its end: there are zeros.
struct MatrixShape {
  std::size_t count = 0;    ///< elements that are there
  std::size_t columns = 0;  ///< of a whole row
  std::size_t lead = 0;     ///< elements that the first row lacks; below columns
  std::size_t rank = 0;     ///< at most rows and columns

  /// The columns of a nearly square matrix.
  static std::size_t square_columns(std::size_t count);
  static MatrixShape of(std::size_t count, std::size_t columns, std::size_t most_rank,
                        std::size_t lead = 0);

  std::size_t rows() const { return count == 0 ? 0 : (lead + count + columns - 1) / columns; }
  /// What travels of it, in float32.
  std::size_t p_floats() const { return rows() * rank; }
  std::size_t q_floats() const { return columns * rank; }
  /// Is that less than its elements? Of vectors it never is.
  bool pays() const { return p_floats() + q_floats() < count; }

  bool operator==(const MatrixShape&) const = default;
};

/// Makes the columns orthonormal, one after the other. Each has `length` elements. Columns that are
/// zero, or nearly a linear combination of others, are replaced by random ones.
void complete_basis(std::span<float> columns, std::size_t length, std::uint64_t seed);

/// Not for use by two threads at a time. The three functions are called in turn. P and Q have
/// shape().p_floats() and q_floats(), and lie column by column.
class PowerSgd {
 public:
  /// `basis` is borrowed: the q_floats() from which the next reduction starts. They were written by
  /// complete_basis() or by the previous reduction.
  PowerSgd(const MatrixShape& shape, std::span<float> basis, std::uint64_t seed);

  const MatrixShape& shape() const { return shape_; }

  /// M is in[i] + residual[i], or in[i] where there is no residual.
  void project(const float* in, const float* residual, std::span<float> p);
  /// Makes `p`, summed over the ranks, orthonormal. `lost` gets the error; if P or Q is not finite,
  /// it gets `residual`. `lost` may be equal to `residual`, and is null if and only if `residual`
  /// is null.
  void back_project(const float* in, const float* residual, float* lost, std::span<float> p,
                    std::span<float> q);
  /// `q` is summed over the ranks. Returns false if P or Q is not finite. Then no element of `out`
  /// is finite, and the next reduction starts as the first one did. `out` may be the array that was
  /// `in`.
  bool expand(std::span<const float> p, std::span<const float> q, float* out);

 private:
  // The elements of one row that exist.
  struct Stretch {
    std::size_t first;   // of the first element
    std::size_t column;  // of it
    std::size_t length;
  };
  Stretch stretch_of(std::size_t row) const;
  void load(const float* in, const float* residual, std::size_t row);
  void store(const float* from, float* to, std::size_t row) const;

  const MatrixShape shape_;
  const std::size_t rows_;
  const std::span<float> basis_;
  const std::uint64_t seed_;
  std::vector<float> row_;
};

}  // namespace paceline
