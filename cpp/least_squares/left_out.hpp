// Predictions of groups of samples by the model without them (docs/math.md, section "Choosing γ:
// leave-one-out, GCV, REML").
//
// With c = By the residuals of a fit without the group G are e_G = (B_GG)⁻¹c_G: features refitted, the shift
// kept. In units of the kernel's variance (B_GG)⁻¹ is their covariance, noise included.
#pragma once

#include <functional>

#include "base/parallel.hpp"
#include "base/types.hpp"

namespace grls {

// Samples by groups, which may overlap and need not hold every sample.
struct Groups {
  IndexList rows;    // those of the first group, then those of the second, …
  IndexList starts;  // (groups + 1): where each begins in `rows`

  Index count() const { return static_cast<Index>(starts.size()) - 1; }
  Index start(Index g) const { return starts[static_cast<std::size_t>(g)]; }
  Index size(Index g) const { return start(g + 1) - start(g); }
  Index largest() const;
  // Throws InvalidArgument where they are no groups of m samples.
  void check(Index m) const;
};

// In the order of Groups::rows. NaN for a group without which the features are dependent.
struct LeftOut {
  Matrix<double> residuals;  // (rows, k): in the scale of √w, as c and B are
  Vector<double> variances;  // (rows): of these, in units of the kernel's variance
};

// half: V (·, count) with B_GG = VᵀV + extra_G extra_Gᵀ, of the group that it is told; called by several
// threads. c (m, k), extra (m, p).
using HalfOfGroup = std::function<Matrix<double>(Index group)>;
LeftOut leave_out(const Context& context, const Groups& groups, const Matrix<double>& c,
                  const Matrix<double>& extra, Index order, const HalfOfGroup& half);

// Its memory beside the factor, given the order of the matrix and the rows of the largest group.
double leave_out_bytes(Index order, Index largest, Index workers);

}  // namespace grls
