// The dual of a support vector machine with a generalised bias, in signed coefficients c = Ya (docs/math.md,
// section "SVM-GB"):
//
//   minimise  ½ cᵀΦc - tᵀc + (τ/2) |Uᵀc|²   subject to  lower <= c <= upper,  and Uᵀc = 0 where τ = ∞
//
//   t     (m)    labels ±1; a label's sign says which bound is zero and which is ±C
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
};

// How good a pair (c, gamma) is. The primal value is that of
//   ½ cᵀΦc + |gamma|²/(2τ) + Σ_i loss_i,   loss_i = max over the box of c_i (t_i - f_i)  (the hinge loss).
struct Certificate {
  double primal = 0;
  double gap = 0;            // primal - dual + gammaᵀUᵀc: what is left of the complementarity conditions
  double infeasibility = 0;  // |Uᵀc| / |c| where τ = ∞
  double across = 0;         // |gammaᵀUᵀc| where τ = ∞: how far the gap may be wrong for it
  // What the gap is measured in: the primal value, or where that vanishes (features that separate the classes
  // alone) a millionth of the loss of f = 0.
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
