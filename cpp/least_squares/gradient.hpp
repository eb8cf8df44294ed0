// How good a kernel is, and which way to turn its parameters: the value and the gradient of the restricted
// likelihood and of the leave-one-out error.
//
// With B = N (NᵀΦN + sI)⁻¹ Nᵀ (m, m), c = By and n = m - l, and with sample weights all of it in the scale of
// √w:
//   restricted likelihood  J = log det(NᵀΦN + sI) + n mean_p log(yᵀBy / n)     G = B - n mean_p c cᵀ / yᵀBy
//   leave one out          J = mean_p Σ_i e_i² / Σw, e_i = c_i / B_ii          G = (2 B diag(Σ_p e² / B_ii) B
//                                                         - Σ_p (u cᵀ + c uᵀ)) / (k Σw), u = B (e_i / B_ii)
// G (m, m) is ∂J/∂Φ: the derivative of a parameter θ is Σ_ij G_ij ∂Φ_ij/∂θ, summed up tile by tile in reverse
// mode over the formula, and that of s is the trace of G (docs/math.md, section "Kernel parameters").
#pragma once

#include "least_squares/path.hpp"

namespace grls {

enum class Criterion { restricted_likelihood, leave_one_out };

struct Gradient {
  double value = 0;
  double shift = 0;  // ∂J/∂s
  Scale scale;       // of NᵀΦN
  // Of each step of the formula, zero where a step has no such parameter.
  Vector<double> a, b;
  std::vector<std::vector<double>> coefficients;
  // Of each column group, empty where it was not asked for or has none.
  std::vector<std::vector<double>> widths, periods;
};

// groups: those whose widths and periods are wanted.
Gradient criterion_gradient(const Context& context, const Problem& problem, Criterion criterion,
                            const IndexList& groups);

// Its memory: the matrix and its inverse, for leave one out the matrix in full; and the columns of the
// groups.
double gradient_bytes(Index m, Criterion criterion, Index n_columns);

}  // namespace grls
