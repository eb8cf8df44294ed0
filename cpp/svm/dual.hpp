// The dual of kernel machines with a piecewise quadratic loss (docs/math.md, section "Other piecewise
// quadratic losses"), of which the support vector machine with a generalised bias is one, c = Ya
// (docs/math.md, section "SVM-GB"):
//
//   minimise  ½ cᵀΦc - tᵀc + Σ_i g_i(c_i) + (τ/2) |Uᵀc|²
//   subject to  lower <= c <= upper,  and Uᵀc = 0 where τ = ∞,   g_i(c) = ½ κ_i c² + ε_i |c|
//
//   t     (m)    targets. Of a support vector machine labels ±1, whose sign says which bound is zero and
//                which is ±C, and g = 0
//   lower, upper (m)  lower <= 0 <= upper, infinite where κ > 0 holds the coefficient
//   κ     (m)    κ_up where c > 0 and κ_down where c < 0
//   U     (m, r) basis of the predefined features at the samples, orthonormal with the samples' weights
//   gamma (r)    their coefficients in that basis: the multipliers of Uᵀc = 0, or τUᵀc
//   f = Φc + U gamma is the model function at the samples.
#pragma once

#include "base/types.hpp"

namespace grls {

struct SvmQp {
  Vector<double> t, lower, upper;
  Matrix<double> U;
  double tau;
  Vector<double> kappa_up = {}, kappa_down = {}, epsilon = {};  // (m) each, or all empty: g = 0

  bool is_plain() const { return epsilon.size() == 0; }
  double kappa(Index i, bool up) const { return is_plain() ? 0 : (up ? kappa_up : kappa_down)[i]; }
  // Whether g_i has another formula on either side of zero, where a coefficient may come to rest.
  bool has_kink(Index i) const {
    return !is_plain() && (epsilon[i] > 0 || kappa_up[i] != kappa_down[i]) && lower[i] < 0 && upper[i] > 0;
  }
  // The derivative of g_i where c grows, and where it shrinks.
  double slope_up(Index i, double c) const {
    return is_plain() ? 0 : c >= 0 ? kappa_up[i] * c + epsilon[i] : kappa_down[i] * c - epsilon[i];
  }
  double slope_down(Index i, double c) const {
    return is_plain() ? 0 : c > 0 ? kappa_up[i] * c + epsilon[i] : kappa_down[i] * c - epsilon[i];
  }
  // How far a coefficient may go without another formula.
  double floor(Index i, double c) const { return c > 0 && has_kink(i) ? 0 : lower[i]; }
  double ceiling(Index i, double c) const { return c < 0 && has_kink(i) ? 0 : upper[i]; }
  bool is_inside(Index i, double c) const { return c > lower[i] && c < upper[i] && (c != 0 || !has_kink(i)); }
  double own(Index i, double c) const;          // g_i(c)
  double loss(Index i, double residual) const;  // max over the box of c · residual - g_i(c)
  double loss_of_zero() const;                  // Σ_i of f = 0
};

// How good a pair (c, gamma) is. The primal value is that of
//   ½ cᵀΦc + |gamma|²/(2τ) + Σ_i loss_i(t_i - f_i),
// of the support vector machine loss_i = max over the box of c_i (t_i - f_i): the hinge loss.
struct Certificate {
  double primal = 0;
  double gap = 0;            // primal - dual + gammaᵀUᵀc: what is left of the complementarity conditions
  double infeasibility = 0;  // |Uᵀc| / |c| where τ = ∞
  double across = 0;         // |gammaᵀUᵀc| where τ = ∞: how far the gap may be wrong for it
  // What the gap is measured in: the primal value, or where that vanishes (features that fit the data or
  // separate the classes alone) a millionth of the loss of f = 0.
  double scale = 1;
  double relative() const { return gap / scale; }
};

// image (m) = Φc
Certificate certify(const SvmQp& qp, const Vector<double>& c, const Vector<double>& image,
                    const Vector<double>& gamma);

// A small change of coefficients strictly between their bounds that makes Uᵀc = 0, τ = ∞, small beside their
// distance from the bounds. What cannot be reached inside the box stays.
Vector<double> restored(const SvmQp& qp, const Vector<double>& c);

// Whether the coefficients strictly between their bounds fix gamma.
bool determines_gamma(const SvmQp& qp, const Vector<double>& c);

}  // namespace grls
