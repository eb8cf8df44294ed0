#include "ridge/ridge.hpp"

#include <algorithm>
#include <limits>

#include "base/errors.hpp"
#include "least_squares/least_squares.hpp"
#include "matrices/products.hpp"

namespace grls {
namespace {

constexpr Index kRows = 256, kColumns = 64;  // of the data that a task takes

template <class S>
void load(const DenseRows<S>& rows, Index first, Index count, Matrix<double>& B) {
  for (Index j = 0; j < rows.d; ++j)
    for (Index i = first; i < first + count; ++i) B(i, j) = static_cast<double>(rows.data[i * rows.d + j]);
}

void load(const CsrRows& rows, Index first, Index count, Matrix<double>& B) {
  B.middleRows(first, count).setZero();
  for (Index i = first; i < first + count; ++i)
    for (Index e = rows.starts[i]; e < rows.starts[i + 1]; ++e) B(i, rows.columns[e]) = rows.values[e];
}

}  // namespace

void RidgeProblem::check() const {
  const Index n = Y.rows();
  require(row_count(rows) == n, "the data have ", row_count(rows), " rows, the targets ", n);
  require(T.rows() == n, "the features have ", T.rows(), " rows, the targets ", n);
  require(weights.size() == 0 || weights.size() == n, "got ", weights.size(), " sample weights for ", n,
          " samples");
  require(weights.size() == 0 || weights.minCoeff() > 0, "sample weights must be positive here");
}

FeatureSpan::FeatureSpan(const Context& context, const RidgeProblem& problem)
    : s(problem.weights.array().sqrt()), Y(problem.Y) {
  problem.check();
  Matrix<double> T = problem.T;
  if (s.size() > 0) {
    T = s.asDiagonal() * T;
    Y = s.asDiagonal() * Y;
  }
  basis = orthonormal_basis(T, problem.dependence, &context);
  require(basis.rank() < T.rows(), "the ", basis.rank(),
          " independent features interpolate all n_samples=", T.rows(),
          " samples: nothing is left to learn; give fewer features or more samples");
  Matrix<double> last_columns = Matrix<double>::Zero(T.rows(), basis.rank());
  last_columns.bottomRows(basis.rank()).setIdentity();
  Q = basis.times(last_columns);
}

ProjectedColumns::ProjectedColumns(const Context& context, const Rows& rows, const FeatureSpan& span)
    : B(row_count(rows), column_count(rows)), inside(span.Q.cols(), column_count(rows)) {
  const Index n = B.rows(), d = B.cols(), r = inside.rows();
  const double size = static_cast<double>(n) * static_cast<double>(d);
  parallel_for(context, (n + kRows - 1) / kRows, workers_for(context, size), [&](Index t, const Worker&) {
    const Index first = t * kRows, count = std::min(kRows, n - first);
    std::visit([&](const auto& view) { load(view, first, count, B); }, rows);
    if (span.s.size() > 0)
      B.middleRows(first, count).array().colwise() *= span.s.segment(first, count).array();
  });
  if (r == 0) return;
  parallel_for(context, (d + kColumns - 1) / kColumns,
               workers_for(context, 4.0 * size * static_cast<double>(r)), [&](Index t, const Worker&) {
                 const Index first = t * kColumns, count = std::min(kColumns, d - first);
                 double* const columns = B.data() + first * n;
                 double* const part = inside.data() + first * r;
                 blas::gemm(blas::Op::transpose, blas::Op::none, r, count, n, 1.0, span.Q.data(), n, columns,
                            n, 0.0, part, r);
                 blas::gemm(blas::Op::none, blas::Op::none, n, count, r, -1.0, span.Q.data(), n, part, r, 1.0,
                            columns, n);
               });
}

Matrix<double> ProjectedColumns::transposed_times(const Matrix<double>& Y) const {
  const Index n = B.rows(), d = B.cols(), k = Y.cols();
  Matrix<double> out(d, k);
  blas::gemm(blas::Op::transpose, blas::Op::none, d, k, n, 1.0, B.data(), n, Y.data(), n, 0.0, out.data(), d);
  return out;
}

RidgeSolution solve_ridge_columns(const Context& context, const RidgeProblem& problem, double shift) {
  const FeatureSpan span(context, problem);
  const ProjectedColumns projected(context, problem.rows, span);
  // BᵀB is the linear kernel's matrix of the columns of B.
  const Formula linear = linear_formula();
  const Rows columns = projected.columns();
  const Index d = row_count(columns);
  Problem normal{KernelOfRows{linear, columns}, Matrix<double>(d, 0), projected.transposed_times(span.Y),
                 Vector<double>()};
  normal.shift = shift;

  RidgeSolution out;
  out.V = solve(context, normal).c;
  out.kept = span.basis.kept;
  // C beta = Qᵀ S (Y - A V)
  out.beta = span.basis.feature_coefficients(
      transposed_product(span.Q, span.Y) - product(projected.inside, out.V), &context);
  return out;
}

double ridge_columns_bytes(Index n, Index d, Index n_outputs) {
  require_count(n, "samples");
  require_count(d, "columns");
  require_count(n_outputs, "outputs");
  constexpr Index kMost = std::numeric_limits<Index>::max() / 2;
  return 8 * static_cast<double>(n) * static_cast<double>(d) +
         solve_bytes(std::min(d, kMost) + std::min(n_outputs, kMost), Precision::float64);
}

}  // namespace grls
