#include "matrices/basis.hpp"

#include <Eigen/Householder>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/errors.hpp"
#include "matrices/products.hpp"
#include "matrices/small_systems.hpp"

namespace grls {
namespace {

Matrix<double> columns_of(const Matrix<double>& X, const IndexList& columns) {
  Matrix<double> out(X.rows(), static_cast<Index>(columns.size()));
  for (Index p = 0; p < out.cols(); ++p) out.col(p) = X.col(columns[static_cast<std::size_t>(p)]);
  return out;
}

std::function<void()> polling(const Context* context) {
  if (!context) return {};
  return [context] { context->poll(); };
}

// A F, a strip of rows at a time, between which poll is called.
Matrix<double> product_in_strips(const Matrix<double>& A, const Matrix<double>& F,
                                 const std::function<void()>& poll) {
  constexpr double kWork = 2e8;
  const double of_row = 2.0 * static_cast<double>(F.size()) + 1;
  const Index rows = std::max<Index>(16, static_cast<Index>(kWork / of_row));
  Matrix<double> out(A.rows(), F.cols());
  for (Index i = 0; i < A.rows(); i += rows) {
    if (poll) poll();
    const Index n = std::min(rows, A.rows() - i);
    out.middleRows(i, n).noalias() = A.middleRows(i, n) * F;
  }
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

// Householder's QR of the columns that are independent of those before them: Q = I - V F Vᵀ with rows in
// reverse, R in the units of the columns.
struct Reflectors {
  IndexList kept;
  Matrix<double> V, F, R;  // (m, r), (r, r) upper triangular, likewise

  Reflectors(const Matrix<double>& T, double tolerance, const Context* context) {
    const Index m = T.rows(), most = std::min(m, T.cols());
    V = Matrix<double>::Zero(m, most);
    F = R = Matrix<double>::Zero(most, most);
    Index rank = 0;
    for (Index c = 0; c < T.cols() && rank < m; ++c) {
      if (context) context->poll();
      // Of unit length, so that dependence is judged apart from the units of a feature.
      const double norm = T.col(c).stableNorm();
      if (!(norm > 0)) continue;
      Vector<double> v = T.col(c).reverse() / norm;
      const auto before = V.leftCols(rank);
      v -= before * (F.topLeftCorner(rank, rank).transpose() * (before.transpose() * v));
      if (!(v.tail(m - rank).norm() > tolerance)) continue;
      double tau = 0, beta = 0;
      auto essential = V.col(rank).tail(m - rank - 1);
      v.tail(m - rank).makeHouseholder(essential, tau, beta);
      V(rank, rank) = 1;
      F.col(rank).head(rank) = -tau * (F.topLeftCorner(rank, rank) * (before.transpose() * V.col(rank)));
      F(rank, rank) = tau;
      R.col(rank).head(rank) = norm * v.head(rank);
      R(rank, rank) = norm * beta;
      kept.push_back(c);
      ++rank;
    }
    V.conservativeResize(m, rank);
    F.conservativeResize(rank, rank);
    R.conservativeResize(rank, rank);
  }
};

}  // namespace

Matrix<double> Basis::times(const Matrix<double>& X) const {
  return X - product(Z, transposed_product(V, X));
}

Matrix<double> Basis::transposed_times(const Matrix<double>& X) const {
  return X - product(V, transposed_product(Z, X));
}

Matrix<double> Basis::feature_coefficients(const Matrix<double>& r, const Context* context) const {
  Matrix<double> beta = Matrix<double>::Zero(n_features, r.cols());
  if (rank() == 0) return beta;
  const Matrix<double> of_kept = solved(C, r, polling(context));
  for (Index p = 0; p < rank(); ++p) beta.row(kept[static_cast<std::size_t>(p)]) = of_kept.row(p);
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

Basis orthonormal_basis(const Matrix<double>& T, double tolerance, const Context* context) {
  if (T.size() == 0 || T.isZero(0)) return trivial_basis(T);
  Basis basis;
  basis.n_features = T.cols();
  const Reflectors qr(T, tolerance, context);
  basis.kept = qr.kept;
  // Rows in reverse: the reflectors then leave their triangle in the last rows, and the null space comes
  // first.
  basis.V = qr.V.colwise().reverse();
  basis.Z = product_in_strips(basis.V, qr.F, polling(context));
  basis.C = qr.R.colwise().reverse();
  return basis;
}

Basis sorted_orthonormal_basis(const Matrix<double>& T, double tolerance, const Context* context) {
  if (T.size() == 0) return trivial_basis(T);
  Basis sorted;
  const Vector<double> sizes = T.cwiseAbs().rowwise().maxCoeff();
  sorted.order.resize(static_cast<std::size_t>(T.rows()));
  std::iota(sorted.order.begin(), sorted.order.end(), Index(0));
  std::stable_sort(sorted.order.begin(), sorted.order.end(),
                   [&](Index i, Index j) { return sizes[i] < sizes[j]; });
  Basis basis = orthonormal_basis(sorted.ordered(T), tolerance, context);
  basis.order = std::move(sorted.order);
  return basis;
}

Matrix<double> null_space(const Context& context, const Basis& basis) {
  constexpr Index kColumns = 64;
  const Index m = basis.V.rows(), r = basis.rank(), n = m - r;
  Matrix<double> N = Matrix<double>::Identity(m, n);
  if (r == 0) return N;
  const double work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(r);
  parallel_for(context, (n + kColumns - 1) / kColumns, workers_for(context, work),
               [&](Index t, const Worker&) {
                 const Index first = t * kColumns, columns = std::min(kColumns, n - first);
                 blas::gemm(blas::Op::none, blas::Op::transpose, m, columns, r, -1.0, basis.Z.data(), m,
                            basis.V.data() + first, m, 1.0, N.data() + first * m, m);
               });
  return N;
}

IndexList independent_columns(const Matrix<double>& T, double tolerance, const Context* context) {
  return T.size() == 0 ? IndexList() : Reflectors(T, tolerance, context).kept;
}

Basis pivot_basis(const Matrix<double>& T, Pivots pivots, double tolerance, const Context* context) {
  if (T.size() == 0 || T.isZero(0)) return trivial_basis(T);
  const Index m = T.rows();
  Basis basis;
  basis.n_features = T.cols();
  basis.kept = independent_columns(T, tolerance, context);
  const Index rank = basis.rank();
  const Matrix<double> kept = columns_of(T, basis.kept);

  IndexList chosen(static_cast<std::size_t>(rank));
  std::iota(chosen.begin(), chosen.end(), Index(0));
  // Judged apart from the units of the features, as dependence is.
  const Vector<double> units = kept.colwise().norm().cwiseInverse();
  if (pivots == Pivots::qr && rank > 0) {
    chosen = pivot_columns(units.asDiagonal() * kept.transpose(), context).order;
    chosen.resize(static_cast<std::size_t>(rank));
  }
  std::vector<bool> is_pivot(static_cast<std::size_t>(m), false);
  for (const Index p : chosen) is_pivot[static_cast<std::size_t>(p)] = true;
  for (Index i = 0; i < m; ++i)
    if (!is_pivot[static_cast<std::size_t>(i)]) basis.order.push_back(i);
  basis.order.insert(basis.order.end(), chosen.begin(), chosen.end());

  Matrix<double> ordered = basis.ordered(kept);
  basis.C = ordered.bottomRows(rank);  // B₀ of docs/math.md: the features at the pivots
  if (rank > 0) {
    const Vector<double> sizes = pivot_sizes(basis.C * units.asDiagonal(), context);
    const double ratio = sizes.minCoeff() / sizes.maxCoeff();
    // The features are independent; these rows of them must be so to rounding only.
    const double rounding = 10 * std::sqrt(static_cast<double>(m)) * std::numeric_limits<double>::epsilon();
    require(ratio > rounding, "the features at the pivot samples form a singular matrix (ratio of pivots ",
            ratio, "); use pivots='qr', or put samples with independent features first");
    // φ' = T B⁻¹, eq. (12)
    ordered = solved(basis.C.transpose(), ordered.transpose(), polling(context)).transpose();
  }
  basis.V = ordered;
  basis.V.bottomRows(rank).setZero();
  basis.Z = Matrix<double>::Zero(m, rank);
  basis.Z.bottomRows(rank).setIdentity();
  return basis;
}

}  // namespace grls
