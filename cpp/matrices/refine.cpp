#include "matrices/refine.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "matrices/conjugate_gradients.hpp"
#include "matrices/factor.hpp"

namespace grls {
namespace {

// More steps than this cost more than the float64 factorisation they are to save.
constexpr int kMaxIterations = 15;

void copy_rounded(const Context& context, const BlockTriangle<double>& from, BlockTriangle<float>& to) {
  for_tiles(context, to, 0, to.order(), 2.0, [&](const auto& t, const Worker&) {
    for (Index q = 0; q < t.columns; ++q) {
      const Index column = t.column + q, first = std::max(column, t.first);
      if (first >= t.last) continue;
      const double* const source = from.column(first, column);
      std::copy(source, source + (t.last - first), to.at(first, t.j) + q * to.ld(t.j));
    }
  });
}

}  // namespace

std::optional<Refined> solve_refined(const Context& context, const BlockTriangle<double>& A,
                                     const Matrix<double>& B, Index wanted, double tolerance) {
  const Index n = A.pivots();
  BlockTriangle<float> L(n, n);
  copy_rounded(context, A, L);
  try {
    partial_llt(context, L);
  } catch (const NotPositiveDefinite&) {
    return std::nullopt;
  }

  LinearSystem<Matrix<double>> system;
  system.multiply = [&](const Matrix<double>& X, Matrix<double>& image) {
    image = symmetric_times(context, A, 0, n, X);
  };
  // (LLᵀ)⁻¹ R column by column scaled to length one, so that float32 neither overflows nor underflows.
  system.precondition = [&](Matrix<double>& R) {
    Eigen::RowVectorXd size = R.colwise().norm();
    for (double& s : size) s = s > 0 ? s : 1;
    Matrix<float> X = (R * size.cwiseInverse().asDiagonal()).cast<float>();
    solve_forward(context, L, X);
    solve_transposed(context, L, X);
    context.poll();
    R = X.cast<double>() * size.asDiagonal();
  };
  Refined out;
  out.first = B;
  system.precondition(out.first);
  system.multiply(out.first, out.image);
  try {
    const FirstGuess<Matrix<double>> guess{out.first.leftCols(wanted), out.image.leftCols(wanted)};
    const Gradients<Matrix<double>> solved = conjugate_gradients<Matrix<double>>(
        context, system, B.leftCols(wanted), {tolerance, kMaxIterations}, guess);
    if (solved.status != Status::converged) return std::nullopt;
    out.X = out.first;
    out.X.leftCols(wanted) = solved.X;
    out.iterations = solved.iterations;
  } catch (const ProductOverflow&) {
    return std::nullopt;
  }
  return out;
}

}  // namespace grls
