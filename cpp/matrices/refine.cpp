#include "matrices/refine.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "matrices/factor.hpp"

namespace grls {
namespace {

// More steps than this cost more than the float64 factorisation they are to save.
constexpr int kMaxIterations = 15;

void copy_rounded(const Context& context, const BlockTriangle<double>& from, BlockTriangle<float>& to) {
  for_tiles(context, to, 0, to.order(), 2.0, [&](const auto& t, int) {
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

  // (LLᵀ)⁻¹ R column by column scaled to length one, so that float32 neither overflows nor underflows.
  const auto precondition = [&](const Matrix<double>& R) {
    Eigen::RowVectorXd size = R.colwise().norm();
    for (double& s : size) s = s > 0 ? s : 1;
    Matrix<float> X = (R * size.cwiseInverse().asDiagonal()).cast<float>();
    solve_forward(context, L, X);
    solve_transposed(context, L, X);
    context.poll();
    return Matrix<double>(X.cast<double>() * size.asDiagonal());
  };
  const auto dot = [](const Matrix<double>& a, const Matrix<double>& b) {
    return Eigen::ArrayXd((a.array() * b.array()).colwise().sum().transpose());
  };
  const auto ratio = [](const Eigen::ArrayXd& a,
                        const Eigen::ArrayXd& b) {  // 0 / 0 = 0: a column that is solved
    return Eigen::ArrayXd((b.abs() > 0).select(a / b, 0.0));
  };
  const Eigen::ArrayXd goal = tolerance * B.leftCols(wanted).colwise().norm().transpose().array();
  const auto solved = [&](const Matrix<double>& R) {
    return (R.colwise().norm().transpose().array() <= goal).all();
  };

  Refined out;
  out.first = precondition(B);
  out.image = symmetric_times(context, A, 0, n, out.first);
  out.X = out.first;
  auto X = out.X.leftCols(wanted);
  const auto target = B.leftCols(wanted);
  Matrix<double> R = target - out.image.leftCols(wanted);
  for (out.iterations = 0; !solved(R);) {
    if (out.iterations >= kMaxIterations) return std::nullopt;
    Matrix<double> Z = precondition(R), P = Z;
    Eigen::ArrayXd rz = dot(R, Z);
    while (true) {
      ++out.iterations;
      const Matrix<double> AP = symmetric_times(context, A, 0, n, P);
      const Eigen::ArrayXd alpha = ratio(rz, dot(P, AP));
      if (!alpha.allFinite()) return std::nullopt;
      X += P * alpha.matrix().asDiagonal();
      R -= AP * alpha.matrix().asDiagonal();
      if (solved(R) || out.iterations >= kMaxIterations) break;
      Z = precondition(R);
      const Eigen::ArrayXd next = dot(R, Z);
      P = Z + P * ratio(next, rz).matrix().asDiagonal();
      rz = next;
    }
    R = target -
        symmetric_times(context, A, 0, n, Matrix<double>(X));  // the residual itself, not its recurrence
  }
  return out;
}

}  // namespace grls
