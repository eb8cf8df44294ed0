// The whole regularisation path from one reduction (docs/math.md, section "Choosing γ: leave-one-out, GCV,
// REML").
//
// H (n, n) = NᵀΦN becomes block tridiagonal, QᵀHQ = B, by blocks of Householder reflectors: matrix products
// throughout. For every shift s = γ Σw the factor of B + sI then costs O(n b²), b the block size, and
//   log det(H + sI), |L⁻¹QᵀNᵀy|² (REML), tr (H + sI)⁻¹ and |(H + sI)⁻¹NᵀY|² (GCV) as little;
//   B_ii = |L⁻¹u_i|² with u_i the i-th row of NQ, and c = BY, for B = N(H + sI)⁻¹Nᵀ: exact leave-one-out
//   residuals are e_i = c_i / B_ii,
// O(n b) per sample. No eigenvectors are needed, but for small matrices, where they cost less: B is then
// diagonal, and B_ii a product of the squares of U with the inverses of its elements and the shift.
//
// A prior of variance t on the features' orthonormal coordinates turns B into B + D (S + tI)⁻¹ Dᵀ and c into
// c + D (S + tI)⁻¹ r: the whole plane of s and t comes from D, S and r, which the path carries along.
#pragma once

#include <memory>

#include "least_squares/least_squares.hpp"
#include "least_squares/left_out.hpp"
#include "least_squares/reduction.hpp"

namespace grls {

// What relative shifts are multiples of.
struct Scale {
  double unit = 1;        // the mean eigenvalue of H, tr(H) / n; that of Φ, or 1 if Φ = 0, where H vanishes
  bool vanishes = false;  // H is made of rounding errors: the features leave nothing of the kernel
  double rounding = 0;    // about the norm of the rounding errors in H
};
// From mean: the mean eigenvalue of H; left, whole: mean sizes of the diagonals of H and Φ; share: of `whole`
// that what the features leave may be and still consist of rounding errors.
Scale scale_of(double mean, double left, double whole, double share, double rounding);
// That of H in A = MᵀΦM (m, m), before anything was added to it.
Scale scale_of(const BlockTriangle<double>& A, Index m);

struct Path {
  Vector<double> shifts;  // (g)
  Scale scale;
  Vector<double> log_determinant;        // (g): log det(H + sI)
  Vector<double> trace;                  // (g): tr (H + sI)⁻¹
  Matrix<double> quadratic;              // (g, k): yᵀN (H + sI)⁻¹ Nᵀy
  Matrix<double> squared_norm;           // (g, k): |(H + sI)⁻¹ Nᵀy|²
  std::vector<Matrix<double>> schur, r;  // g times (l, l) and (l, k): S, and r = Dᵀy
  IndexList kept;                        // features that have a coefficient
  // Of every sample, where leave_one_out is asked for. With sample weights, y, c and B are those of the
  // scaled problem, y_i √w_i.
  std::vector<Vector<double>> diagonal;  // g times (m): B_ii
  std::vector<Matrix<double>> c, D;      // g times (m, k) and (m, l)
};

// A matrix that was reduced once, for shifts that come one after the other: the driver of every path.
class ReducedMatrix {
 public:
  virtual ~ReducedMatrix() = default;
  // relative: the shifts are multiples of the scale's unit. Where H + sI is not positive definite everything
  // about that shift is NaN.
  Path at(const Context& context, const Vector<double>& shifts, bool relative) const;

  // What the model at a shift says of groups of samples that it has not seen; c = BY there, and extra: see
  // left_out.hpp. For a matrix that was reduced with leave_one_out.
  virtual LeftOut leave_out(const Context& context, double shift, const Groups& groups,
                            const Matrix<double>& c, const Matrix<double>& extra) const;

 protected:
  explicit ReducedMatrix(Index n_outputs) : n_outputs_(n_outputs) {}

  // Reduces the pivots H (n, n) of A in place. rhs (n, k + more): right-hand sides, those of the outputs
  // first.
  Reduction set(const Context& context, BlockTriangle<double>& A, Matrix<double> rhs);

  // What a model adds to a path: room for what is its own; of every shift that makes H + sI definite, given
  // W = L⁻¹Qᵀ rhs; and where there are samples U, of every shift, given UᵀZ (m, k + more), Z = (B + sI)⁻¹Qᵀ
  // rhs, with |L⁻¹u_i|² in path.diagonal.
  virtual void begin(Path&) const {}
  virtual void at_shift(Index, const Matrix<double>&, Path&) const {}
  virtual void at_samples(Index p, Matrix<double> product, Path& path) const = 0;

  // The same from the eigenvalues of a small matrix, all shifts at once.
  void from_eigenvalues(const Context& context, Path& path) const;

  Index n_outputs_;  // k
  IndexList kept_;
  Scale scale_;
  BlockTridiagonal band_;
  Matrix<double> rhs_;  // (n, k + more), in the basis of the reduction
  Matrix<double> U_;    // (n, m): one column per sample in that basis; empty: samples are not asked for
};

std::unique_ptr<ReducedMatrix> reduce(const Context& context, const Problem& problem, bool leave_one_out);

// Reduction and path at once; one shift with leave_one_out comes from a factor, without a reduction.
Path regularization_path(const Context& context, const Problem& problem, const Vector<double>& shifts,
                         bool relative, bool leave_one_out);

// Its memory: half a matrix of order m and k; with leave_one_out also the samples in the basis of the
// reduction, and for each shift a factor and what it gives of every sample.
double path_bytes(Index m, Index n_outputs, Index n_shifts, bool leave_one_out, Index n_features);

}  // namespace grls
