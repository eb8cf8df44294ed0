#include "svm/separation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "matrices/small_systems.hpp"

namespace grls {
namespace {

constexpr double kConstant = 1e3;     // the constant's column: its coefficient counts a millionth of others
constexpr double kNothing = 1e-11;    // share of the residual at which no separation is left
constexpr double kSatisfied = 1e-10;  // of a margin

// min |Eu - e| over u >= 0, e the last unit vector.
class NonNegative {
 public:
  NonNegative(const Context& context, const Matrix<double>& E)
      : context_(context), E_(E), u_(Vector<double>::Zero(E.cols())) {}

  // False: no end within the iterations allowed.
  bool solve() {
    const Index limit = 20 * E_.rows() + 50;
    IndexList barred;  // of no use, as rounding has it, since the last step
    for (Index k = 0; k < limit; ++k) {
      context_.poll();
      residual_ = Vector<double>::Zero(E_.rows());
      residual_[E_.rows() - 1] = 1;
      for (const Index i : passive_) residual_ -= u_[i] * E_.col(i);
      if (left() < kNothing) return true;
      Vector<double> w = E_.transpose() * residual_;
      for (const Index i : passive_) w[i] = 0;
      for (const Index i : barred) w[i] = 0;
      Index best;
      if (w.maxCoeff(&best) <= kSatisfied * left()) return true;
      if (admit(best)) {
        barred.clear();
      } else {
        barred.push_back(best);
      }
    }
    return false;
  }

  double left() const { return residual_[E_.rows() - 1]; }
  const Vector<double>& u() const { return u_; }
  const Vector<double>& residual() const { return residual_; }
  const IndexList& passive() const { return passive_; }

 private:
  // The least-squares solution with one more that may be positive; those that would get negative leave.
  bool admit(Index added) {
    passive_.push_back(added);
    for (bool first = true;; first = false) {
      const Vector<double> z = alone();
      if (first && z[z.size() - 1] <= 0) {
        passive_.pop_back();
        return false;
      }
      double step = 1;
      for (Index k = 0; k < z.size(); ++k)
        if (z[k] <= 0) step = std::min(step, u_[place(k)] / (u_[place(k)] - z[k]));
      IndexList rest;
      for (Index k = 0; k < z.size(); ++k) {
        const Index i = place(k);
        const bool leaves = z[k] <= 0 && u_[i] / (u_[i] - z[k]) <= step;
        u_[i] = leaves ? 0 : u_[i] + step * (z[k] - u_[i]);
        if (!leaves) rest.push_back(i);
      }
      const bool all = rest.size() == passive_.size();
      passive_ = rest;
      if (all || passive_.empty()) return true;
    }
  }

  Vector<double> alone() const {
    Matrix<double> part(E_.rows(), static_cast<Index>(passive_.size()));
    for (Index k = 0; k < part.cols(); ++k) part.col(k) = E_.col(place(k));
    Vector<double> e = Vector<double>::Zero(E_.rows());
    e[E_.rows() - 1] = 1;
    return shortest_solution(part, e, &context_);
  }

  Index place(Index k) const { return passive_[static_cast<std::size_t>(k)]; }

  const Context& context_;
  const Matrix<double>& E_;
  Vector<double> u_, residual_;
  IndexList passive_;
};

// Coordinates in which the norm is |b|², gamma = to_gamma · b, the free constant's last.
Matrix<double> coordinates(const SvmQp& qp, bool free_constant, const Matrix<double>& metric) {
  const Index r = metric.rows(), first = free_constant ? 1 : 0;
  // Features of which the constant is a sum (indicators of groups) share it among them.
  const bool shared = free_constant && metric(0, 0) > 1e-16 * metric.trace();
  Matrix<double> rest = metric.bottomRightCorner(r - first, r - first);
  if (shared) rest -= metric.col(0).tail(r - 1) * metric.row(0).tail(r - 1) / metric(0, 0);
  rest.diagonal().array() += 1e-12 * (rest.trace() / std::max<double>(1, static_cast<double>(r - first)));
  Matrix<double> out = Matrix<double>::Zero(r, r);
  const Matrix<double> inverse = inverse_of_cholesky_factor(rest);
  if (inverse.rows() != rest.rows()) {  // features of no size
    out.setConstant(std::numeric_limits<double>::quiet_NaN());
    return out;
  }
  out.block(first, 0, r - first, r - first) = inverse.transpose();
  if (free_constant) {
    if (shared)
      out.row(0).head(r - 1) = -metric.row(0).tail(r - 1) * out.block(1, 0, r - 1, r - 1) / metric(0, 0);
    out(0, r - 1) = 1 / qp.U(0, 0);
  }
  return out;
}

// The solution with the constant wholly free, where the margins that are one are the given ones.
Vector<double> with_free_constant(const Context& context, const Matrix<double>& rows, const IndexList& active,
                                  const Vector<double>& b) {
  const auto n = static_cast<Index>(active.size());
  const Index r = rows.cols();
  Matrix<double> part(n, r);
  for (Index k = 0; k < n; ++k) part.row(k) = rows.row(active[static_cast<std::size_t>(k)]);
  Matrix<double> system = Matrix<double>::Zero(n + 1, n + 1);
  system.topLeftCorner(n, n) = part.leftCols(r - 1) * part.leftCols(r - 1).transpose();
  system.col(n).head(n) = part.col(r - 1);
  system.row(n).head(n) = part.col(r - 1).transpose();
  Vector<double> rhs = Vector<double>::Ones(n + 1);
  rhs[n] = 0;
  const Vector<double> solution = shortest_solution(system, rhs, &context);
  Vector<double> out(r);
  out.head(r - 1) = part.leftCols(r - 1).transpose() * solution.head(n);
  out[r - 1] = solution[n];
  const bool better = out.allFinite() && (rows * out).minCoeff() > 1 - 1e-9 &&
                      solution.head(n).minCoeff() > -1e-9 * solution.head(n).cwiseAbs().maxCoeff();
  return better ? out : b;
}

Separation attempt(const Context& context, const SvmQp& qp, bool free_constant,
                   const Matrix<double>& metric) {
  Separation out;
  const Index m = qp.t.size(), r = qp.U.cols();
  const Matrix<double> to_gamma = coordinates(qp, free_constant, metric);
  const Matrix<double> rows = qp.t.asDiagonal() * (qp.U * to_gamma);
  if (!rows.allFinite()) return out;
  Matrix<double> E(r + 1, m);
  E.topRows(r) = rows.transpose();
  if (free_constant) E.row(r - 1) *= kConstant;
  E.row(r).setOnes();
  NonNegative problem(context, E);
  if (!problem.solve()) return out;
  if (problem.left() < kNothing) {
    out.c = qp.t.cwiseProduct(problem.u()) / problem.u().sum();
    return out;
  }
  Vector<double> b = -problem.residual().head(r) / problem.left();
  if (free_constant) {
    b[r - 1] *= kConstant;
    b = with_free_constant(context, rows, problem.passive(), b);
  }
  const double margin = (rows * b).minCoeff();
  out.separable = margin > 0;
  out.gamma = to_gamma * b / std::min(margin, 1.0);
  return out;
}

}  // namespace

Separation separate(const Context& context, const SvmQp& qp, bool free_constant,
                    const Matrix<double>& metric) {
  Separation out = attempt(context, qp, free_constant, metric);
  if (out.separable) return out;
  // A feature that hardly varies between these samples may do it with a coefficient out of all proportion.
  const auto m = static_cast<double>(qp.t.size());
  return attempt(context, qp, free_constant, Matrix<double>::Identity(metric.rows(), metric.cols()) / m);
}

}  // namespace grls
