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

constexpr Index kSmall = 512;  // systems that take no time
constexpr Index kPanel = 64;

// A⁻¹B, both of which are overwritten: LU with row pivots in panels, Eigen's solvers within them.
Matrix<double> solved_in_panels(Matrix<double>& A, Matrix<double>& B, const std::function<void()>& poll) {
  const Index n = A.rows();
  const auto panels = [&](Index from, Index to, const auto& body) {
    for (Index j = from; j < to; j += kPanel) {
      poll();
      body(j, std::min(kPanel, to - j));
    }
  };
  panels(0, n, [&](Index k, Index size) {
    const Index left = n - k - size;
    for (Index j = k; j < k + size; ++j) {
      Index pivot = 0;
      A.col(j).tail(n - j).cwiseAbs().maxCoeff(&pivot);
      if (pivot > 0) {
        A.row(j).swap(A.row(j + pivot));
        B.row(j).swap(B.row(j + pivot));
      }
      if (A(j, j) != 0) A.col(j).tail(n - j - 1) /= A(j, j);
      const Index rest = k + size - j - 1;
      A.block(j + 1, j + 1, n - j - 1, rest).noalias() -=
          A.col(j).tail(n - j - 1) * A.row(j).segment(j + 1, rest);
    }
    const auto triangle = A.block(k, k, size, size).triangularView<Eigen::UnitLower>();
    const auto below = A.block(k + size, k, left, size);
    panels(k + size, n, [&](Index j, Index columns) {
      triangle.solveInPlace(A.block(k, j, size, columns));
      A.block(k + size, j, left, columns).noalias() -= below * A.block(k, j, size, columns);
    });
  });
  panels(0, B.cols(), [&](Index j, Index columns) {
    A.triangularView<Eigen::UnitLower>().solveInPlace(B.middleCols(j, columns));
    A.triangularView<Eigen::Upper>().solveInPlace(B.middleCols(j, columns));
  });
  return std::move(B);
}

}  // namespace

Matrix<double> solved(const Matrix<double>& A, const Matrix<double>& B, const std::function<void()>& poll) {
  const Vector<double> units = row_units(A);
  Matrix<double> even = units.asDiagonal() * A, right = units.asDiagonal() * B;
  if (!poll || A.rows() <= kSmall) return even.partialPivLu().solve(right);
  return solved_in_panels(even, right, poll);
}

Matrix<double> inverse_of(const Matrix<double>& A, const std::function<void()>& poll) {
  return solved(A, Matrix<double>::Identity(A.rows(), A.cols()), poll);
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
