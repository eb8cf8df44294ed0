#include "matrices/small_systems.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Householder>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/blas.hpp"

namespace grls {

namespace {

// Powers of two, near the inverse of the largest value of each row: exact to multiply with.
Vector<double> row_units(const Matrix<double>& A) {
  Vector<double> out = A.rowwise().lpNorm<Eigen::Infinity>();
  for (double& size : out) size = size > 0 && std::isfinite(size) ? std::exp2(-std::ilogb(size)) : 1;
  return out;
}

// QR by Householder reflections with column pivots, whose norms are brought up to date (LAPACK Working Note
// 176). Between columns it looks whether to go on, which Eigen's own cannot; pivots and rank are the same.
struct PivotedQr {
  Matrix<double> A;  // R, and below it the reflectors
  Vector<double> tau;
  IndexList order;
  Index rank = 0;

  PivotedQr(const Matrix<double>& given, const Context* context) : A(given) {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    const Index rows = A.rows(), cols = A.cols(), size = std::min(rows, cols);
    order.resize(static_cast<std::size_t>(cols));
    std::iota(order.begin(), order.end(), Index(0));
    tau.resize(size);
    if (size == 0) return;
    Vector<double> direct(cols), temporary(cols);
    for (Index j = 0; j < cols; ++j) direct[j] = A.col(j).norm();
    Vector<double> norms = direct;
    const double negligible = std::pow(norms.maxCoeff() * epsilon, 2) / static_cast<double>(rows);
    Index nonzero = size;
    double largest = 0;
    for (Index k = 0; k < size; ++k) {
      if (context) context->poll();
      Index best;
      const double norm = norms.tail(cols - k).maxCoeff(&best);
      best += k;
      if (nonzero == size && norm * norm < negligible * static_cast<double>(rows - k)) nonzero = k;
      if (best != k) {
        A.col(k).swap(A.col(best));
        std::swap(norms[k], norms[best]);
        std::swap(direct[k], direct[best]);
        std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(best)]);
      }
      double beta;
      A.col(k).tail(rows - k).makeHouseholderInPlace(tau[k], beta);
      A(k, k) = beta;
      largest = std::max(largest, std::abs(beta));
      A.bottomRightCorner(rows - k, cols - k - 1)
          .applyHouseholderOnTheLeft(A.col(k).tail(rows - k - 1), tau[k], temporary.data() + k + 1);
      for (Index j = k + 1; j < cols; ++j) {
        if (norms[j] == 0) continue;
        const double share = std::abs(A(k, j)) / norms[j], left = std::max(0.0, (1 + share) * (1 - share));
        if (left * std::pow(norms[j] / direct[j], 2) <= std::sqrt(epsilon)) {  // too many digits are lost
          norms[j] = direct[j] = A.col(j).tail(rows - k - 1).norm();
        } else {
          norms[j] *= std::sqrt(left);
        }
      }
    }
    const double least = largest * epsilon * static_cast<double>(size);
    for (Index k = 0; k < nonzero; ++k) rank += std::abs(A(k, k)) > least;
  }
};

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

Vector<double> shortest_solution(const Matrix<double>& A, const Vector<double>& b, const Context* context) {
  if (A.rows() < A.cols()) return A.completeOrthogonalDecomposition().solve(b);
  const PivotedQr qr(A, context);
  if (qr.rank < A.cols()) return A.completeOrthogonalDecomposition().solve(b);
  Vector<double> x = b;
  double temporary;
  for (Index k = 0; k < qr.rank; ++k)
    x.tail(A.rows() - k).applyHouseholderOnTheLeft(qr.A.col(k).tail(A.rows() - k - 1), qr.tau[k], &temporary);
  qr.A.topRows(qr.rank).triangularView<Eigen::Upper>().solveInPlace(x.head(qr.rank));
  Vector<double> out(A.cols());
  for (Index k = 0; k < qr.rank; ++k) out[qr.order[static_cast<std::size_t>(k)]] = x[k];
  return out;
}

PivotColumns pivot_columns(const Matrix<double>& A, const Context* context) {
  PivotedQr qr(A, context);
  return {qr.rank, std::move(qr.order)};
}

Vector<double> pivot_sizes(Matrix<double> A, const Context* context) {
  Vector<double> sizes(std::min(A.rows(), A.cols()));
  for (Index p = 0; p < sizes.size(); ++p) {
    if (context) context->poll();
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
