// The dual of svm/dual.hpp, τ = ∞, by an active set: the coefficients strictly between their bounds are known
// by name, and a step takes them and gamma to where their samples have no residual and Uᵀc = 0,
//   [ -δ  U_Fᵀ ] [dgamma]   [ -Uᵀc     ]
//   [ U_F Φ_FF ] [ dc   ] = [ t_F - f_F ],
// or as far as a bound lets it, whose coefficient then leaves; where all are there the worst violators join
// them. The inverse of that matrix is brought up to date with each. Exact, indifferent to how large gamma is,
// and as fast as there are few such coefficients: what decomposition is not.
#pragma once

#include "svm/dual.hpp"
#include "svm/kernel_rows.hpp"

namespace grls {

struct ActiveSetOptions {
  double tolerance = 1e-4;  // of the gap, relative to the primal value
  Index max_members = 0;    // coefficients strictly between their bounds
  Index max_rounds = 0;
};

struct ActiveSetPoint {
  Vector<double> c, gamma, image;  // image = Φc
  Certificate certificate;
};

struct ActiveSetResult {
  bool converged = false;
  Index rounds = 0;
};

// From a point with Uᵀc = 0 and c within the bounds to a better one.
template <class S>
ActiveSetResult active_set(const Context& context, const SvmQp& qp, KernelRows<S>& rows,
                           const ActiveSetOptions& options, ActiveSetPoint& point);

}  // namespace grls
