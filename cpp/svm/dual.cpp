#include "svm/dual.hpp"

#include <algorithm>
#include <cmath>

#include "base/blas.hpp"
#include "matrices/products.hpp"
#include "matrices/small_systems.hpp"

namespace grls {
namespace {

// Rows of U whose coefficient may move, zero elsewhere.
Matrix<double> movable_rows(const SvmQp& qp, const Vector<double>& c) {
  Matrix<double> out = qp.U;
  for (Index i = 0; i < c.size(); ++i)
    if (!qp.is_inside(i, c[i])) out.row(i).setZero();
  return out;
}

// max over 0 <= c <= upper of cr - ½ κc²
double largest(double r, double kappa, double upper) {
  if (!(r > 0)) return 0;
  const double c = kappa * upper > r ? r / kappa : upper;
  return c * (r - 0.5 * kappa * c);
}

}  // namespace

double SvmQp::own(Index i, double c) const {
  return is_plain() ? 0 : 0.5 * kappa(i, c > 0) * c * c + epsilon[i] * std::abs(c);
}

double SvmQp::loss(Index i, double residual) const {
  if (is_plain()) return std::max(upper[i] * residual, lower[i] * residual);
  return std::max(largest(residual - epsilon[i], kappa_up[i], upper[i]),
                  largest(-residual - epsilon[i], kappa_down[i], -lower[i]));
}

double SvmQp::loss_of_zero() const {
  if (is_plain()) return (upper - lower).sum();
  double sum = 0;
  for (Index i = 0; i < t.size(); ++i) sum += loss(i, t[i]);
  return sum;
}

Certificate certify(const SvmQp& qp, const Vector<double>& c, const Vector<double>& image,
                    const Vector<double>& gamma) {
  Certificate out;
  const Vector<double> residual = qp.t - image - qp.U * gamma;
  const double quadratic = c.dot(image);
  double loss = 0, own = 0;
  for (Index i = 0; i < c.size(); ++i) {
    loss += qp.loss(i, residual[i]);
    own += qp.own(i, c[i]);
  }
  const bool soft = std::isfinite(qp.tau);
  const Vector<double> s = qp.U.transpose() * c;
  const double prior = soft && qp.tau > 0 ? gamma.squaredNorm() / (2 * qp.tau) : 0;
  out.primal = 0.5 * quadratic + prior + loss;
  out.scale = std::max(out.primal, 1e-6 * qp.loss_of_zero());
  // loss + g - c · residual >= 0 sample by sample; written so, it loses no digits at the solution.
  out.gap = loss + own - c.dot(residual);
  if (soft) {
    out.gap += prior + 0.5 * qp.tau * s.squaredNorm() - gamma.dot(s);
  } else {
    const double size = c.norm();
    out.infeasibility = size > 0 ? s.norm() / size : 0;
    out.across = std::abs(gamma.dot(s));
  }
  return out;
}

Vector<double> restored(const SvmQp& qp, const Vector<double>& c) {
  Vector<double> out = c;
  if (qp.U.cols() == 0 || std::isfinite(qp.tau)) return out;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Vector<double> s = qp.U.transpose() * out;
    if (s.norm() <= 1e-15 * out.norm()) break;
    const Matrix<double> rows = movable_rows(qp, out);
    const Matrix<double> normal = transposed_product(rows, rows);
    const Vector<double> step = rows * shortest_solution(normal, s);
    for (Index i = 0; i < out.size(); ++i)
      if (qp.is_inside(i, out[i]))
        out[i] = std::min(std::max(out[i] - step[i], qp.floor(i, out[i])), qp.ceiling(i, out[i]));
  }
  return out;
}

bool determines_gamma(const SvmQp& qp, const Vector<double>& c) {
  if (qp.U.cols() == 0 || std::isfinite(qp.tau)) return true;
  const Matrix<double> rows = movable_rows(qp, c);
  Matrix<double> normal = transposed_product(rows, rows);
  Vector<double> values(normal.rows());
  blas::syevd(normal.rows(), normal.data(), normal.rows(), values.data());
  return values[0] > 1e-12;
}

}  // namespace grls
