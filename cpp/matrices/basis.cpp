#include "matrices/basis.hpp"

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.hpp"

namespace grls {
namespace {

Matrix<double> columns_of(const Matrix<double>& X, const IndexList& columns) {
  Matrix<double> out(X.rows(), static_cast<Index>(columns.size()));
  for (Index p = 0; p < out.cols(); ++p) out.col(p) = X.col(columns[static_cast<std::size_t>(p)]);
  return out;
}

// No feature is left: M = I. Eigen's decompositions want at least one column.
Basis trivial_basis(const Matrix<double>& T) {
  Basis basis;
  basis.n_features = T.cols();
  basis.V.resize(T.rows(), 0);
  basis.Z.resize(T.rows(), 0);
  return basis;
}

}  // namespace

Matrix<double> Basis::feature_coefficients(const Matrix<double>& r) const {
  Matrix<double> beta = Matrix<double>::Zero(n_features, r.cols());
  if (rank() == 0) return beta;
  const Matrix<double> solved = C.partialPivLu().solve(r);
  for (Index p = 0; p < rank(); ++p) beta.row(kept[static_cast<std::size_t>(p)]) = solved.row(p);
  return beta;
}

Matrix<double> Basis::ordered(const Matrix<double>& X) const {
  if (order.empty()) return X;
  Matrix<double> out(X.rows(), X.cols());
  for (Index i = 0; i < X.rows(); ++i) out.row(i) = X.row(order[static_cast<std::size_t>(i)]);
  return out;
}

Matrix<double> Basis::restored(const Matrix<double>& X) const {
  if (order.empty()) return X;
  Matrix<double> out(X.rows(), X.cols());
  for (Index i = 0; i < X.rows(); ++i) out.row(order[static_cast<std::size_t>(i)]) = X.row(i);
  return out;
}

Basis orthonormal_basis(const Matrix<double>& T, double tolerance) {
  if (T.size() == 0 || T.isZero(0)) return trivial_basis(T);
  const Index m = T.rows();
  Basis basis;
  basis.n_features = T.cols();

  // Columns of unit length, so that dependence is judged apart from the units of a feature. Rows in reverse:
  // the reflectors then leave their triangle in the last rows, and the null space comes first.
  Vector<double> norms = T.colwise().norm();
  for (double& norm : norms) norm = norm > 0 ? norm : 1;
  const Eigen::ColPivHouseholderQR<Matrix<double>> qr(
      (T * norms.cwiseInverse().asDiagonal()).colwise().reverse());

  const auto& R = qr.matrixQR();
  Index rank = 0;
  while (rank < std::min(m, T.cols()) && std::abs(R(rank, rank)) > tolerance) ++rank;
  const auto& permutation = qr.colsPermutation().indices();
  for (Index p = 0; p < rank; ++p) basis.kept.push_back(permutation[p]);

  // Compact form of the first `rank` reflectors: Q = I - V F Vᵀ, F upper triangular.
  basis.V = Matrix<double>::Zero(m, rank);
  Matrix<double> F = Matrix<double>::Zero(rank, rank);
  for (Index p = 0; p < rank; ++p) {
    basis.V(p, p) = 1;
    basis.V.col(p).tail(m - p - 1) = R.col(p).tail(m - p - 1);
    const double tau = qr.hCoeffs()[p];
    F.col(p).head(p) = -tau * (F.topLeftCorner(p, p) * (basis.V.leftCols(p).transpose() * basis.V.col(p)));
    F(p, p) = tau;
  }
  basis.V = basis.V.colwise().reverse().eval();
  basis.Z = basis.V * F;

  basis.C = Matrix<double>::Zero(rank, rank);
  for (Index p = 0; p < rank; ++p)
    for (Index q = 0; q <= p; ++q)
      basis.C(rank - 1 - q, p) = R(q, p) * norms[basis.kept[static_cast<std::size_t>(p)]];
  return basis;
}

Basis pivot_basis(const Matrix<double>& T, Pivots pivots, double tolerance) {
  if (T.size() == 0 || T.isZero(0)) return trivial_basis(T);
  const Index m = T.rows();
  Basis basis;
  basis.n_features = T.cols();
  basis.kept = orthonormal_basis(T, tolerance).kept;
  std::sort(basis.kept.begin(), basis.kept.end());
  const Index rank = basis.rank();
  const Matrix<double> kept = columns_of(T, basis.kept);

  IndexList chosen(static_cast<std::size_t>(rank));
  std::iota(chosen.begin(), chosen.end(), Index(0));
  // Judged apart from the units of the features, as dependence is.
  const Vector<double> units = kept.colwise().norm().cwiseInverse();
  if (pivots == Pivots::qr && rank > 0) {
    const Eigen::ColPivHouseholderQR<Matrix<double>> qr(units.asDiagonal() * kept.transpose());
    for (Index p = 0; p < rank; ++p) chosen[static_cast<std::size_t>(p)] = qr.colsPermutation().indices()[p];
  }
  std::vector<bool> is_pivot(static_cast<std::size_t>(m), false);
  for (const Index p : chosen) is_pivot[static_cast<std::size_t>(p)] = true;
  for (Index i = 0; i < m; ++i)
    if (!is_pivot[static_cast<std::size_t>(i)]) basis.order.push_back(i);
  basis.order.insert(basis.order.end(), chosen.begin(), chosen.end());

  Matrix<double> ordered = basis.ordered(kept);
  basis.C = ordered.bottomRows(rank);  // B₀ of docs/math.md: the features at the pivots
  if (rank > 0) {
    const Vector<double> pivot_sizes =
        Eigen::FullPivLU<Matrix<double>>(basis.C * units.asDiagonal()).matrixLU().diagonal().cwiseAbs();
    const double ratio = pivot_sizes.minCoeff() / pivot_sizes.maxCoeff();
    require(ratio > tolerance, "the features at the pivot samples form a singular matrix (ratio of pivots ",
            ratio, "); use pivots='qr', or put samples with independent features first");
    // φ' = T B⁻¹, eq. (12)
    ordered = basis.C.transpose().partialPivLu().solve(ordered.transpose()).transpose().eval();
  }
  basis.V = ordered;
  basis.V.bottomRows(rank).setZero();
  basis.Z = Matrix<double>::Zero(m, rank);
  basis.Z.bottomRows(rank).setIdentity();
  return basis;
}

}  // namespace grls
