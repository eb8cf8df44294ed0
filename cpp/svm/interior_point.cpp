#include "svm/interior_point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "matrices/factor.hpp"
#include "matrices/products.hpp"
#include "matrices/small_systems.hpp"
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
    for_tiles(context_, phi_, 0, m, 2.0, [&](const auto& t, const Worker&) {
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

// The coefficients in pieces without a kink: where g_i has one, c_i = x⁺ + x⁻ of two pieces, one of either
// sign; samples whose bounds are both zero have none. The program is then smooth in x,
//   ½ cᵀΦc + Σ_k (½ κ_k x_k² - t_k x_k),   lower <= x <= upper.
struct Pieces {
  IndexList sample, first;  // of each piece; the first one of each sample, and one more
  Array lower, upper, t, kappa;

  explicit Pieces(const SvmQp& qp) {
    const Index m = qp.t.size();
    std::vector<double> low, high, target, curvature;
    const auto add = [&](Index i, double from, double to, double linear, double quadratic) {
      sample.push_back(i);
      low.push_back(from);
      high.push_back(to);
      target.push_back(linear);
      curvature.push_back(quadratic);
    };
    for (Index i = 0; i < m; ++i) {
      first.push_back(static_cast<Index>(sample.size()));
      if (qp.has_kink(i)) {
        add(i, 0, qp.upper[i], qp.t[i] - qp.epsilon[i], qp.kappa(i, true));
        add(i, qp.lower[i], 0, qp.t[i] + qp.epsilon[i], qp.kappa(i, false));
      } else if (qp.lower[i] < qp.upper[i]) {
        // One formula in all of it: where ε is not zero, one of the bounds is.
        const bool up = qp.upper[i] > 0;
        const double epsilon = qp.is_plain() ? 0 : qp.epsilon[i];
        add(i, qp.lower[i], qp.upper[i], qp.t[i] - (up ? epsilon : -epsilon), qp.kappa(i, up));
      }
    }
    first.push_back(size());
    const auto array = [](const std::vector<double>& values) {
      return Array(Eigen::Map<const Array>(values.data(), static_cast<Index>(values.size())));
    };
    lower = array(low);
    upper = array(high);
    t = array(target);
    kappa = array(curvature);
  }

  Index size() const { return static_cast<Index>(sample.size()); }

  Array at_pieces(const Vector<double>& values) const {
    Array out(size());
    for (Index k = 0; k < size(); ++k) out[k] = values[sample[static_cast<std::size_t>(k)]];
    return out;
  }

  Vector<double> summed(const Array& x) const {
    Vector<double> out = Vector<double>::Zero(static_cast<Index>(first.size()) - 1);
    for (Index k = 0; k < size(); ++k) out[sample[static_cast<std::size_t>(k)]] += x[k];
    return out;
  }
};

// An iterate strictly inside: p = x - lower, q = upper - x, and the multipliers of these bounds. Where there
// is no bound, the distance is one and the multiplier zero, and both stay so.
struct Iterate {
  Array x, p, q, zp, zq;
  Vector<double> gamma;
};

struct Direction {
  Array dx, dp, dq, dzp, dzq;
  Vector<double> dgamma;
};

class Method {
 public:
  Method(const SvmQp& qp, Hessian& hessian)
      : qp_(qp),
        hessian_(hessian),
        pieces_(qp),
        has_p_(pieces_.lower.isFinite().cast<double>()),
        has_q_(pieces_.upper.isFinite().cast<double>()),
        n_bounds_(std::max(1.0, has_p_.sum() + has_q_.sum())) {
    const Index n = pieces_.size();
    // Residuals of a margin are of the order of one; so are the multipliers that stand for them.
    const double size = std::max(1.0, qp.t.cwiseAbs().maxCoeff());
    at_.x.resize(n);
    for (Index k = 0; k < n; ++k) {
      const bool p = has_p_[k] > 0, q = has_q_[k] > 0;
      // Two pieces without a bound cancel, so that they may begin as far out as the loss alone lets them end:
      // nearer their products with the multipliers would be far too small beside the residuals.
      const auto i = static_cast<std::size_t>(pieces_.sample[static_cast<std::size_t>(k)]);
      const Index first = pieces_.first[i];
      const bool two = pieces_.first[i + 1] - first == 2;
      const double phi = hessian.diagonal(pieces_.sample[static_cast<std::size_t>(k)]);
      const double own = two ? std::max({pieces_.kappa[first], pieces_.kappa[first + 1], 1e-12 * phi})
                             : pieces_.kappa[k] + phi;
      const double away = size / std::max(own, 1e-300);
      at_.x[k] = p && q ? 0.5 * (pieces_.lower[k] + pieces_.upper[k])
                 : p    ? pieces_.lower[k] + away
                 : q    ? pieces_.upper[k] - away
                        : 0;
    }
    at_.p = (has_p_ > 0).select(at_.x - pieces_.lower, 1.0);
    at_.q = (has_q_ > 0).select(pieces_.upper - at_.x, 1.0);
    at_.gamma = Vector<double>::Zero(qp.U.cols());
    at_.zp = size * has_p_;
    at_.zq = size * has_q_;
    evaluate();
  }

  double gap() const { return (at_.p * at_.zp).sum() + (at_.q * at_.zq).sum(); }
  double dual_residual() const { return residual_.size() > 0 ? residual_.abs().maxCoeff() : 0; }
  double primal_residual() const { return equality_.size() > 0 ? equality_.cwiseAbs().maxCoeff() : 0; }
  const Iterate& at() const { return at_; }
  const Pieces& pieces() const { return pieces_; }
  const Vector<double>& c() const { return c_; }
  const Vector<double>& image() const { return image_; }

  void advance() {
    curvature_ = at_.zp / at_.p + at_.zq / at_.q + pieces_.kappa;
    reduce();
    hessian_.factorise(reduced_);
    across_ = hessian_.solve(qp_.U);
    Matrix<double> schur = transposed_product(qp_.U, across_);
    if (std::isfinite(qp_.tau)) schur.diagonal().array() += 1 / qp_.tau;
    // Where the samples that count do not fix gamma this is singular; so much more keeps it where it is.
    if (schur.size() > 0)
      schur.diagonal().array() += 1e-10 * schur.trace() / static_cast<double>(schur.rows());
    schur_ = 0.5 * (schur + schur.transpose());

    const double mu = gap() / n_bounds_;
    const Array zero = Array::Zero(at_.x.size());
    const Direction predictor = direction(0, zero, zero);
    const double reach = step_of(predictor);
    const Array p = at_.p + reach * predictor.dp, q = at_.q + reach * predictor.dq;
    const Array zp = at_.zp + reach * predictor.dzp, zq = at_.zq + reach * predictor.dzq;
    const double reached = ((p * zp).sum() + (q * zq).sum()) / n_bounds_;
    const double sigma = mu > 0 ? std::pow(reached / mu, 3) : 0;

    // The second-order terms are those of a full step; of a short one a share of them is enough.
    const double share = reach * reach;
    const Direction d =
        direction(sigma * mu, share * predictor.dp * predictor.dzp, share * predictor.dq * predictor.dzq);
    const double reachable = step_of(d);
    const double step = std::min(1.0, (reachable > 0.9 ? 0.995 : 0.9) * reachable);
    at_.x += step * d.dx;
    at_.p += step * d.dp;
    at_.q += step * d.dq;
    at_.zp += step * d.dzp;
    at_.zq += step * d.dzq;
    at_.gamma += step * d.dgamma;
    evaluate();
  }

 private:
  void evaluate() {
    c_ = pieces_.summed(at_.x);
    image_ = hessian_.times(c_);
    residual_ =
        pieces_.at_pieces(image_ + qp_.U * at_.gamma) - pieces_.t + pieces_.kappa * at_.x - at_.zp + at_.zq;
    equality_ = qp_.U.transpose() * c_;
    if (std::isfinite(qp_.tau)) equality_ -= at_.gamma / qp_.tau;
  }

  // What two pieces of a sample are together: as springs in a row. Of a sample without a piece, infinite.
  void reduce() {
    const auto m = static_cast<Index>(pieces_.first.size()) - 1;
    reduced_.resize(m);
    for (Index i = 0; i < m; ++i) {
      const Index k = pieces_.first[static_cast<std::size_t>(i)],
                  count = pieces_.first[static_cast<std::size_t>(i) + 1] - k;
      reduced_[i] = count == 0   ? std::numeric_limits<double>::infinity()
                    : count == 1 ? curvature_[k]
                                 : 1 / (1 / curvature_[k] + 1 / curvature_[k + 1]);
    }
  }

  double step_of(const Direction& d) const {
    return std::min(std::min(step_to_boundary(at_.p, d.dp), step_to_boundary(at_.q, d.dq)),
                    std::min(step_to_boundary(at_.zp, d.dzp), step_to_boundary(at_.zq, d.dzq)));
  }

  // Newton's step towards complementarity products of `target`, less the second-order terms given.
  Direction direction(double target, const Array& second_p, const Array& second_q) {
    const Array wp = has_p_ * ((target - second_p) / at_.p - at_.zp),
                wq = has_q_ * ((target - second_q) / at_.q - at_.zq);
    const Array rhs = -residual_ + (wp - wq);
    const Vector<double> joined = join(rhs);
    const Vector<double> alone = hessian_.solve(joined);
    Direction d;
    d.dgamma = Vector<double>::Zero(qp_.U.cols());
    if (qp_.U.cols() > 0) d.dgamma = symmetric_solution(schur_, qp_.U.transpose() * alone + equality_);
    d.dx = divided(rhs, alone - across_ * d.dgamma);
    d.dp = has_p_ * d.dx;
    d.dq = -has_q_ * d.dx;
    d.dzp = wp - at_.zp * d.dp / at_.p;
    d.dzq = wq - at_.zq * d.dq / at_.q;
    return d;
  }

  // The right-hand side of the samples, of which that of a piece alone is its own.
  Vector<double> join(const Array& rhs) const {
    const Index m = reduced_.size();
    Vector<double> out = Vector<double>::Zero(m);
    for (Index i = 0; i < m; ++i) {
      const Index k = pieces_.first[static_cast<std::size_t>(i)],
                  count = pieces_.first[static_cast<std::size_t>(i) + 1] - k;
      if (count == 1) out[i] = rhs[k];
      if (count == 2) out[i] = reduced_[i] * (rhs[k] / curvature_[k] + rhs[k + 1] / curvature_[k + 1]);
    }
    return out;
  }

  // The step of each piece, from those of the samples. Two of a sample add up to its step whatever their
  // curvatures; of tiny ones a difference of right-hand sides would leave nothing but rounding errors.
  Array divided(const Array& rhs, const Vector<double>& dc) const {
    Array out(pieces_.size());
    for (Index i = 0; i < reduced_.size(); ++i) {
      const Index k = pieces_.first[static_cast<std::size_t>(i)],
                  count = pieces_.first[static_cast<std::size_t>(i) + 1] - k;
      if (count == 1) out[k] = dc[i];
      if (count != 2) continue;
      const double one = curvature_[k], other = curvature_[k + 1], apart = rhs[k] - rhs[k + 1];
      out[k] = (other * dc[i] + apart) / (one + other);
      out[k + 1] = (one * dc[i] - apart) / (one + other);
    }
    return out;
  }

  const SvmQp& qp_;
  Hessian& hessian_;
  const Pieces pieces_;
  const Array has_p_, has_q_;  // 1 where there is a bound
  const double n_bounds_;
  Iterate at_;
  Array residual_, curvature_;
  Vector<double> c_, image_, equality_, reduced_;
  Matrix<double> across_;  // (Φ + D)⁻¹U
  Matrix<double> schur_;
};

// The coefficients whose bound's multiplier outweighs what their distance from it adds to the model function
// are put on the bound.
Vector<double> snapped(const Pieces& pieces, const Hessian& hessian, const Iterate& at) {
  Array x = at.x;
  for (Index k = 0; k < x.size(); ++k) {
    const double own = hessian.diagonal(pieces.sample[static_cast<std::size_t>(k)]) + pieces.kappa[k];
    const bool low = std::isfinite(pieces.lower[k]), high = std::isfinite(pieces.upper[k]);
    if (low && at.p[k] * own < 1e-2 * at.zp[k] && (!high || at.p[k] < at.q[k])) x[k] = pieces.lower[k];
    if (high && at.q[k] * own < 1e-2 * at.zq[k] && (!low || at.q[k] < at.p[k])) x[k] = pieces.upper[k];
  }
  return pieces.summed(x);
}

// Newton's steps to the exact solution on the coefficients strictly inside, those on a bound held there: what
// putting coefficients on their bounds has moved is set right again. Returns the gap reached.
double polish(const SvmQp& qp, Hessian& hessian, Vector<double>& c, Vector<double>& gamma) {
  const Index m = qp.t.size();
  Vector<double> image = hessian.times(c);
  double best = certify(qp, c, image, gamma).gap;
  for (int repeat = 0; repeat < 4; ++repeat) {
    Vector<double> held(m);
    Vector<double> residual = qp.t - image - qp.U * gamma;
    for (Index i = 0; i < m; ++i) {
      const bool inside = qp.is_inside(i, c[i]);
      const double kappa = qp.kappa(i, c[i] > 0);
      held[i] = (inside ? 1e-14 : 1e12) * (hessian.diagonal(i) + kappa) + (inside ? kappa : 0);
      residual[i] -= qp.slope_up(i, c[i]);
    }
    if ((held.array() <= 0).any()) return best;
    hessian.factorise(held);
    const Vector<double> alone = hessian.solve(residual);
    Vector<double> step = alone, dgamma = Vector<double>::Zero(qp.U.cols());
    if (qp.U.cols() > 0 && determines_gamma(qp, c)) {
      const Matrix<double> across = hessian.solve(qp.U);
      Matrix<double> schur = transposed_product(qp.U, across);
      Vector<double> equality = qp.U.transpose() * c;
      if (std::isfinite(qp.tau)) {
        schur.diagonal().array() += 1 / qp.tau;
        equality -= gamma / qp.tau;
      }
      dgamma = symmetric_solution(schur, qp.U.transpose() * alone + equality);
      step -= across * dgamma;
    }
    Vector<double> moved = c;
    for (Index i = 0; i < m; ++i)
      if (qp.is_inside(i, c[i]))
        moved[i] = std::min(std::max(c[i] + step[i], qp.floor(i, c[i])), qp.ceiling(i, c[i]));
    moved = restored(qp, moved);
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
  double best = std::numeric_limits<double>::infinity();
  int stalled = 0;
  while (out.iterations < max_iterations) {
    const Certificate certificate = certify(qp, method.c(), method.image(), method.at().gamma);
    const double widest = (qp.upper - qp.lower).maxCoeff();
    const double box = std::isfinite(widest) ? widest : std::max(method.c().cwiseAbs().maxCoeff(), 1e-300);
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
  const Vector<double> inside = restored(qp, method.c());
  const Certificate as_it_is = certify(qp, inside, hessian.times(inside), method.at().gamma);
  out.c = restored(qp, snapped(method.pieces(), hessian, method.at()));
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
  const double box = (qp.upper - qp.lower).mean();
  const double width = std::isfinite(box) ? box : std::max(c.cwiseAbs().mean(), 1e-300);
  // The norm is to decide between equal losses only: its weight 1/τ must be small beside the losses, which
  // change by C|u_i| along a unit of gamma. How large gamma is, and so how small, is not known beforehand.
  for (const double weight : {1e-6, 1e-9, 1e-12, 1e-15}) {
    bias.tau = static_cast<double>(qp.t.size()) / (weight * width);
    ZeroHessian none;
    const Vector<double> shorter = interior_point(context, bias, none, 1e-12, 1, 100).gamma;
    if (shorter.allFinite() && certify(qp, c, image, shorter).relative() <= allowed) return shorter;
  }
  return gamma;
}

}  // namespace grls
