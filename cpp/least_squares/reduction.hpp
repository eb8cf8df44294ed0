// A symmetric matrix H (n, n) as a block tridiagonal one, QᵀHQ = B, by blocks of Householder reflectors; and
// factors of B + sI, each of which costs O(n b²), b the block size. A small one becomes diagonal: its
// eigenvectors cost less than the factors of some dozens of shifts.
#pragma once

#include <vector>

#include "base/parallel.hpp"
#include "matrices/triangle.hpp"

namespace grls {

constexpr Index kBandBlock = 32;      // b: wide enough for matrix products, narrow enough for cheap factors
constexpr Index kDiagonalised = 700;  // the largest matrix that becomes diagonal, given a LAPACK

// B: diagonal blocks D_j (symmetric) and E_j = B[j + 1, j].
struct BlockTridiagonal {
  Index n = 0;
  std::vector<Matrix<double>> D, E;
  Vector<double> values;  // of a small matrix: B is diagonal, with these in place of blocks

  bool is_diagonal() const { return values.size() > 0; }
  Index blocks() const { return static_cast<Index>(D.size()); }
  static Index start(Index j) { return j * kBandBlock; }
};

// The compact form I - V F Vᵀ of the reflectors a QR factorisation left below the diagonal of `panel`
// (rows, r).
struct Reflectors {
  Matrix<double> V, F;
};

// Reduces the leading (n, n) block of A in place; the reflectors stay below the band. Of a small one A is
// left as it is.
class Reduction {
 public:
  Reduction(const Context& context, BlockTriangle<double>& A);

  BlockTridiagonal band() const;
  // X (n, k) = QᵀX
  Matrix<double> transposed_times(Matrix<double> X) const;
  // G (n, n) = Qᵀ, from the last reflectors to the first: each touches only what those after it have.
  void transposed(const Context& context, Eigen::Ref<Matrix<double>> G) const;

 private:
  double* panel(Index c) { return const_cast<double*>(A_.column(c + kBandBlock, c)); }
  const double* panel(Index c) const { return A_.column(c + kBandBlock, c); }
  Index ld(Index c) const { return A_.ld_of(c); }
  Reflectors reflectors(std::size_t p) const;

  BlockTriangle<double>& A_;
  Index n_;
  std::vector<Vector<double>> taus_;
  Vector<double> values_;   // (n), and
  Matrix<double> vectors_;  // (n, n) = Q, where B is diagonal
};

// B + sI = LLᵀ with L block bidiagonal. The inverses of its diagonal blocks turn every later solve into
// products.
struct BandFactor {
  std::vector<Matrix<double>> inverse;  // L_jj⁻¹
  std::vector<Matrix<double>> carry;    // L_jj⁻¹ L_j,j-1, j >= 1; the first is empty
  double log_determinant = 0;
  bool definite = true;  // otherwise the rest is not filled in

  BandFactor(const BlockTridiagonal& B, double shift);

  Index blocks() const { return static_cast<Index>(inverse.size()); }
  Matrix<double> forward(const Matrix<double>& X) const;   // L⁻¹ X, X (n, k)
  Matrix<double> backward(const Matrix<double>& W) const;  // L⁻ᵀ W
  double trace() const;                                    // tr (LLᵀ)⁻¹
};

// B_ii = |L⁻¹u_i|² and UᵀZ for all samples and shifts. U (n, m): one column per sample. What belongs to a
// factor that is not definite is left as it is.
void per_sample(const Context& context, const Matrix<double>& U, const std::vector<BandFactor>& factors,
                const std::vector<Matrix<double>>& Z, std::vector<Vector<double>>& diagonals,
                std::vector<Matrix<double>>& products);

}  // namespace grls
