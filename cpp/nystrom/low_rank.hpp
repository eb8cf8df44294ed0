// Functions at some centres that stand for a kernel matrix, ΠΦΠ ≈ BBᵀ, B (m, r), Π = I - QQᵀ: the
// preconditioner of the matrix-free solver, and what is known of the spectrum before a product was made.
//
// Centres are drawn by a randomly pivoted Cholesky factorisation of Φ: a block of samples is drawn in
// proportion to the diagonal of what is left, Φ - BBᵀ, those that say the same as others of the block are
// dropped, and B gains a function for each of the rest. Rows that the functions express already are hardly
// drawn again, which uniform draws are. Kernels that are not known to be positive definite have centres drawn
// uniformly, and functions of what the features leave of the kernel (nystrom/nystrom.hpp).
#pragma once

#include <memory>

#include "matrices/assemble.hpp"
#include "matrices/group_means.hpp"
#include "nystrom/nystrom.hpp"

namespace grls {

// How the centres are drawn.
enum class Draw { uniform, pivoted };

class LowRank {
 public:
  // Bᵀ (r, m) of the samples, r = count at most. roots (m): of the sample weights, or empty; then Φ is
  // W½ΦW½. Of pivoted draws the kernel must be positive definite: NotPositiveDefinite where it is not.
  static LowRank pivoted(const Context& context, const KernelOfRows& kernel, const Vector<double>& roots,
                         Index count);
  // From functions that were made elsewhere, before the weights; Bt (r, m).
  LowRank(const Context& context, Matrix<double> Bt, const Vector<double>& roots);
  LowRank() = default;  // of rank 0

  // B <- (I - QQᵀ) B, less the means of groups where there are some, and BᵀB; Q is orthogonal to the groups.
  void project(const Context& context, const Matrix<double>& Q, const GroupMeans& groups);

  Index rank() const { return rank_; }
  Matrix<double> coordinates(const Context& context, const Matrix<double>& R) const;  // BᵀR (r, k)

  // BᵀB (r, r), its lower triangle, until B is rotated.
  const Matrix<double>& gram() const { return gram_; }
  // B <- BU, given that BᵀB = U diag(eigenvalues) Uᵀ: every shift is then as good as free.
  void rotate(const Context& context, const Matrix<double>& U, const Vector<double>& eigenvalues);

  // (BBᵀ + s)⁻¹ = (I - B (BᵀB + s)⁻¹ Bᵀ) / s, of one shift; it refers to the functions.
  class Inverse {
   public:
    Inverse(const Context& context, const LowRank& functions, double shift);
    void operator()(const Context& context, Matrix<double>& R) const;

   private:
    const LowRank& functions_;
    double shift_;
    std::unique_ptr<BlockTriangle<double>> factor_;  // of BᵀB + s, where that is not diagonal
  };

 private:
  // R (m, k) += a B X
  void add_product(const Context& context, double a, const Matrix<double>& X, Matrix<double>& R) const;

  Matrix<double> Bt_;  // (at least r, m)
  Index rank_ = 0;
  Matrix<double> gram_;         // (r, r) BᵀB, its lower triangle, until it is diagonal
  Vector<double> eigenvalues_;  // (r) once it is
};

}  // namespace grls
