// Whether the predefined features alone separate two classes. If so, the model function of least norm that
// does it with margins of one is the solution of svm/dual.hpp whatever the kernel is, with c = 0; if not,
// there is a c ≠ 0 within its signs and with Uᵀc = 0, which is where other methods can begin.
//
// Both come from one problem of non-negative least squares (Lawson and Hanson, Solving Least Squares
// Problems, chapter 23), min |Eu - e| over u >= 0 with the rows t_i U_i, and ones, as columns of E and e the
// last unit vector: gamma is its residual where that is not zero, and t∘u is such a c where it is.
#pragma once

#include "base/parallel.hpp"
#include "svm/dual.hpp"

namespace grls {

struct Separation {
  bool separable = false;
  Vector<double> gamma;  // (r) where separable: t_i U_i gamma >= 1
  // (m) where not: signed, Σ|c| = 1, Uᵀc = 0, at most r + 1 of them not zero. Empty: the iterations gave
  // none.
  Vector<double> c;
};

// metric (r, r): |gamma|² is gammaᵀ metric gamma. free_constant: the first column of qp.U is constant, and
// its coefficient has no part in the norm.
Separation separate(const Context& context, const SvmQp& qp, bool free_constant,
                    const Matrix<double>& metric);

}  // namespace grls
