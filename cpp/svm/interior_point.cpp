#include "svm/interior_point.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "matrices/factor.hpp"
#include "matrices/symmetric.hpp"

namespace grls {

DenseHessian::DenseHessian(const Context& context, const GramSource& source, const IndexList& order)
    : context_(context),
      phi_(order.empty() ? samples_of(source) : static_cast<Index>(order.size()),
           order.empty() ? samples_of(source) : static_cast<Index>(order.size())),
      factor_(phi_.order(), phi_.order()) {
  fill_gram<double>(context, source, order, Vector<double>(), phi_);
}

Vector<double> DenseHessian::times(const Vector<double>& x) {
  return symmetric_times<double>(context_, phi_, 0, phi_.order(), x);
}

void DenseHessian::factorise(const Vector<double>& diagonal) {
  const Index m = phi_.order();
  scale_.resize(m);
  for (Index i = 0; i < m; ++i) {
    const double d = *phi_.column(i, i) + diagonal[i];
    if (!(d > 0)) throw NotPositiveDefinite("a diagonal element of the kernel matrix is negative");
    scale_[i] = 1 / std::sqrt(d);
  }
  // Repeated rows leave nothing but the diagonal to hold the factor up; a breath more, first invisible.
  for (double lift = 0; lift < 1e-6; lift = lift > 0 ? 100 * lift : 1e-14) {
    for_tiles(context_, phi_, 0, m, 2.0, [&](const auto& t, int) {
      for (Index q = 0; q < t.columns; ++q) {
        const Index column = t.column + q;
        const double* const from = phi_.at(t.first, t.j) + (column - phi_.start(t.j)) * phi_.ld(t.j);
        double* const to = factor_.at(t.first, t.j) + (column - factor_.start(t.j)) * factor_.ld(t.j);
        for (Index i = t.first; i < t.last; ++i)
          to[i - t.first] = i == column ? 1 + lift : from[i - t.first] * scale_[i] * scale_[column];
      }
    });
    try {
      return partial_llt(context_, factor_);
    } catch (const NotPositiveDefinite&) {
      continue;
    }
  }
  throw NotPositiveDefinite("the kernel matrix is not positive definite");
}

Matrix<double> DenseHessian::solve(const Matrix<double>& B) {
  Matrix<double> X = scale_.asDiagonal() * B;
  solve_forward(context_, factor_, X);
  solve_transposed(context_, factor_, X);
  return scale_.asDiagonal() * X;
}

namespace {

using Array = Eigen::Array<double, Eigen::Dynamic, 1>;

// The largest step that keeps x + step·dx positive, at most 1.
double step_to_boundary(const Array& x, const Array& dx) {
  double step = 1;
  for (Index i = 0; i < x.size(); ++i)
    if (dx[i] < 0) step = std::min(step, -x[i] / dx[i]);
  return step;
}

// An iterate strictly inside: p = c - lower, q = upper - c, and the multipliers of these bounds.
struct Iterate {
  Array c, p, q, zp, zq;
  Vector<double> gamma;

  void move(const Array& dc, const Array& dzp, const Array& dzq, const Vector<double>& dgamma, double step) {
    c += step * dc;
    p += step * dc;
    q -= step * dc;
    zp += step * dzp;
    zq += step * dzq;
    gamma += step * dgamma;
  }
};

struct Direction {
  Array dc, dzp, dzq;
  Vector<double> dgamma;
};

class Method {
 public:
  Method(const SvmQp& qp, Hessian& hessian) : qp_(qp), hessian_(hessian) {
    const Index m = qp.t.size();
    at_.c = 0.5 * (qp.lower + qp.upper).array();
    at_.p = at_.c - qp.lower.array();
    at_.q = qp.upper.array() - at_.c;
    at_.gamma = Vector<double>::Zero(qp.U.cols());
    // Residuals of a margin are of the order of one; so are the multipliers that stand for them.
    const double size = std::max(1.0, qp.t.cwiseAbs().maxCoeff());
    at_.zp = at_.zq = Array::Constant(m, size);
    evaluate();
  }

  double gap() const { return (at_.p * at_.zp).sum() + (at_.q * at_.zq).sum(); }
  double dual_residual() const { return residual_.cwiseAbs().maxCoeff(); }
  double primal_residual() const { return equality_.size() > 0 ? equality_.cwiseAbs().maxCoeff() : 0; }
  const Iterate& at() const { return at_; }
  const Vector<double>& image() const { return image_; }

  void advance() {
    const Array D = at_.zp / at_.p + at_.zq / at_.q;
    hessian_.factorise(D);
    across_ = hessian_.solve(qp_.U);
    Matrix<double> schur = qp_.U.transpose() * across_;
    if (std::isfinite(qp_.tau)) schur.diagonal().array() += 1 / qp_.tau;
    // Where the samples that count do not fix gamma this is singular; so much more keeps it where it is.
    if (schur.size() > 0)
      schur.diagonal().array() += 1e-10 * schur.trace() / static_cast<double>(schur.rows());
    schur_.compute(0.5 * (schur + schur.transpose()));

    const double mu = gap() / static_cast<double>(2 * at_.c.size());
    const Direction predictor = direction(0, Array::Zero(at_.c.size()), Array::Zero(at_.c.size()));
    const double reach = step_of(predictor);
    const Array p = at_.p + reach * predictor.dc, q = at_.q - reach * predictor.dc;
    const Array zp = at_.zp + reach * predictor.dzp, zq = at_.zq + reach * predictor.dzq;
    const double reached = ((p * zp).sum() + (q * zq).sum()) / static_cast<double>(2 * at_.c.size());
    const double sigma = std::pow(reached / mu, 3);

    // The second-order terms are those of a full step; of a short one a share of them is enough.
    const double share = reach * reach;
    const Direction d =
        direction(sigma * mu, share * predictor.dc * predictor.dzp, -share * predictor.dc * predictor.dzq);
    const double reachable = step_of(d);
    const double step = std::min(1.0, (reachable > 0.9 ? 0.995 : 0.9) * reachable);
    at_.move(d.dc, d.dzp, d.dzq, d.dgamma, step);
    evaluate();
  }

 private:
  void evaluate() {
    const Vector<double> c = at_.c.matrix();
    image_ = hessian_.times(c);
    residual_ = image_ - qp_.t + qp_.U * at_.gamma - at_.zp.matrix() + at_.zq.matrix();
    equality_ = qp_.U.transpose() * c;
    if (std::isfinite(qp_.tau)) equality_ -= at_.gamma / qp_.tau;
  }

  double step_of(const Direction& d) const {
    return std::min(std::min(step_to_boundary(at_.p, d.dc), step_to_boundary(at_.q, -d.dc)),
                    std::min(step_to_boundary(at_.zp, d.dzp), step_to_boundary(at_.zq, d.dzq)));
  }

  // Newton's step towards complementarity products of `target`, less the second-order terms given.
  Direction direction(double target, const Array& second_p, const Array& second_q) {
    const Array wp = (target - second_p) / at_.p - at_.zp, wq = (target - second_q) / at_.q - at_.zq;
    const Matrix<double> rhs = -residual_ + (wp - wq).matrix();
    const Vector<double> alone = hessian_.solve(rhs);
    Direction d;
    d.dgamma = Vector<double>::Zero(qp_.U.cols());
    if (qp_.U.cols() > 0) d.dgamma = schur_.solve(qp_.U.transpose() * alone + equality_);
    d.dc = (alone - across_ * d.dgamma).array();
    d.dzp = wp - at_.zp * d.dc / at_.p;
    d.dzq = wq + at_.zq * d.dc / at_.q;
    return d;
  }

  const SvmQp& qp_;
  Hessian& hessian_;
  Iterate at_;
  Vector<double> image_, residual_, equality_;
  Matrix<double> across_;  // (Φ + D)⁻¹U
  Eigen::LDLT<Matrix<double>> schur_;
};

// The coefficients whose bound's multiplier outweighs what their distance from it adds to the model function
// are put on the bound.
Vector<double> snapped(const SvmQp& qp, const Hessian& hessian, const Iterate& at) {
  Vector<double> c = at.c.matrix();
  for (Index i = 0; i < c.size(); ++i) {
    if (at.p[i] * hessian.diagonal(i) < 1e-2 * at.zp[i] && at.p[i] < at.q[i]) c[i] = qp.lower[i];
    if (at.q[i] * hessian.diagonal(i) < 1e-2 * at.zq[i] && at.q[i] < at.p[i]) c[i] = qp.upper[i];
  }
  return c;
}

// Newton's steps to the exact solution on the coefficients strictly inside, those on a bound held there: what
// putting coefficients on their bounds has moved is set right again. Returns the gap reached.
double polish(const SvmQp& qp, Hessian& hessian, Vector<double>& c, Vector<double>& gamma) {
  const Index m = qp.t.size();
  Vector<double> image = hessian.times(c);
  double best = certify(qp, c, image, gamma).gap;
  for (int repeat = 0; repeat < 4; ++repeat) {
    Vector<double> held(m);
    for (Index i = 0; i < m; ++i)
      held[i] = (c[i] > qp.lower[i] && c[i] < qp.upper[i] ? 1e-14 : 1e12) * hessian.diagonal(i);
    if ((held.array() <= 0).any()) return best;
    hessian.factorise(held);
    const Vector<double> residual = qp.t - image - qp.U * gamma;
    const Vector<double> alone = hessian.solve(residual);
    Vector<double> step = alone, dgamma = Vector<double>::Zero(qp.U.cols());
    if (qp.U.cols() > 0 && determines_gamma(qp, c)) {
      const Matrix<double> across = hessian.solve(qp.U);
      Matrix<double> schur = qp.U.transpose() * across;
      Vector<double> equality = qp.U.transpose() * c;
      if (std::isfinite(qp.tau)) {
        schur.diagonal().array() += 1 / qp.tau;
        equality -= gamma / qp.tau;
      }
      dgamma = schur.ldlt().solve(qp.U.transpose() * alone + equality);
      step -= across * dgamma;
    }
    for (Index i = 0; i < m; ++i)
      if (c[i] <= qp.lower[i] || c[i] >= qp.upper[i]) step[i] = 0;
    const Vector<double> moved = restored(qp, (c + step).cwiseMax(qp.lower).cwiseMin(qp.upper));
    const Vector<double> moved_image = hessian.times(moved), moved_gamma = gamma + dgamma;
    const double gap = certify(qp, moved, moved_image, moved_gamma).gap;
    if (!(gap < best)) return best;
    best = gap;
    c = moved;
    gamma = moved_gamma;
    image = moved_image;
  }
  return best;
}

}  // namespace

InteriorPoint interior_point(const Context& context, const SvmQp& qp, Hessian& hessian, double tolerance,
                             double acceptable, int max_iterations) {
  InteriorPoint out;
  Method method(qp, hessian);
  const double box = (qp.upper - qp.lower).maxCoeff();
  double best = std::numeric_limits<double>::infinity();
  int stalled = 0;
  while (out.iterations < max_iterations) {
    const Vector<double> c = method.at().c.matrix();
    const Certificate certificate = certify(qp, c, method.image(), method.at().gamma);
    // Three measures of what is left, each as a share of what it is measured in.
    const double left =
        std::max({method.gap() / certificate.scale, method.dual_residual(), method.primal_residual() / box});
    out.converged = left <= tolerance;
    if (out.converged) break;
    const double absolute = std::max(left, method.gap() / box);
    stalled = absolute < 0.95 * best ? 0 : stalled + 1;
    best = std::min(best, absolute);
    if (stalled >= 15) break;  // rounding errors have the word now
    context.poll();
    method.advance();
    ++out.iterations;
  }
  // On the bounds where that does no harm, else as it is.
  const Vector<double> inside = restored(qp, method.at().c.matrix());
  const Certificate as_it_is = certify(qp, inside, hessian.times(inside), method.at().gamma);
  out.c = restored(qp, snapped(qp, hessian, method.at()));
  out.gamma = method.at().gamma;
  const double gap = polish(qp, hessian, out.c, out.gamma);
  if (gap > std::max(as_it_is.gap, acceptable * as_it_is.scale)) {
    out.c = inside;
    out.gamma = method.at().gamma;
  }
  return out;
}

Vector<double> least_norm_gamma(const Context& context, const SvmQp& qp, const Vector<double>& c,
                                const Vector<double>& image, const Vector<double>& gamma, double tolerance) {
  const double allowed = std::max(0.1 * tolerance, certify(qp, c, image, gamma).relative());
  SvmQp bias = qp;
  bias.t = qp.t - image;
  // The norm is to decide between equal losses only: its weight 1/τ must be small beside the losses, which
  // change by C|u_i| along a unit of gamma. How large gamma is, and so how small, is not known beforehand.
  for (const double weight : {1e-6, 1e-9, 1e-12, 1e-15}) {
    bias.tau = static_cast<double>(qp.t.size()) / (weight * (qp.upper - qp.lower).mean());
    ZeroHessian none;
    const Vector<double> shorter = interior_point(context, bias, none, 1e-12, 1, 100).gamma;
    if (shorter.allFinite() && certify(qp, c, image, shorter).relative() <= allowed) return shorter;
  }
  return gamma;
}

}  // namespace grls
