#include "matrices/small_systems.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "base/blas.hpp"

namespace grls {

namespace {

// Powers of two, near the inverse of the largest value of each row: exact to multiply with.
Vector<double> row_units(const Matrix<double>& A) {
  Vector<double> out = A.rowwise().lpNorm<Eigen::Infinity>();
  for (double& size : out) size = size > 0 && std::isfinite(size) ? std::exp2(-std::ilogb(size)) : 1;
  return out;
}

}  // namespace

Matrix<double> solved(const Matrix<double>& A, const Matrix<double>& B) {
  const Vector<double> units = row_units(A);
  const Matrix<double> even = units.asDiagonal() * A, right = units.asDiagonal() * B;
  return even.partialPivLu().solve(right);
}

Matrix<double> inverse_of(const Matrix<double>& A) {
  return solved(A, Matrix<double>::Identity(A.rows(), A.cols()));
}

Vector<double> symmetric_solution(const Matrix<double>& A, const Vector<double>& b) {
  return A.ldlt().solve(b);
}

Vector<double> shortest_solution(const Matrix<double>& A, const Vector<double>& b) {
  return A.completeOrthogonalDecomposition().solve(b);
}

PivotColumns pivot_columns(const Matrix<double>& A) {
  const Eigen::ColPivHouseholderQR<Matrix<double>> qr(A);
  const auto& order = qr.colsPermutation().indices();
  return {qr.rank(), IndexList(order.data(), order.data() + order.size())};
}

Vector<double> pivot_sizes(Matrix<double> A) {
  Vector<double> sizes(std::min(A.rows(), A.cols()));
  for (Index p = 0; p < sizes.size(); ++p) {
    Index row = p, column = p;
    for (Index j = p; j < A.cols(); ++j)
      for (Index i = p; i < A.rows(); ++i)
        if (std::abs(A(i, j)) > std::abs(A(row, column))) row = i, column = j;
    sizes[p] = std::abs(A(row, column));
    if (!(sizes[p] > 0)) {
      sizes.tail(sizes.size() - p).setZero();
      break;
    }
    A.row(p).swap(A.row(row));
    A.col(p).swap(A.col(column));
    for (Index j = p + 1; j < A.cols(); ++j) {
      const double factor = A(p, j) / A(p, p);
      for (Index i = p + 1; i < A.rows(); ++i) A(i, j) -= factor * A(i, p);
    }
  }
  return sizes;
}

Matrix<double> inverse_of_cholesky_factor(Matrix<double> A) {
  const Index n = A.rows();
  if (!blas::potrf_lower(n, A.data(), n)) return Matrix<double>();
  Matrix<double> out = Matrix<double>::Identity(n, n);
  blas::trsm_left_lower(blas::Op::none, n, n, A.data(), n, out.data(), n);
  return out;
}

}  // namespace grls
