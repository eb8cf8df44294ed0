// Decomposition: the dual of svm/dual.hpp in rounds. Each takes a working set of the worst violators, solves
// it by sequential minimal optimisation (svm/working_set.hpp), and brings Φc up to date with the kernel rows
// of the coefficients that moved. No more of the kernel matrix than these rows is ever evaluated.
//
// The constant, when it is among the features, is kept exactly: steps move two coefficients and leave Σc as
// it is. For all other features V the rounds work on the augmented Lagrangian
//   ½ cᵀ(Φ + ρVVᵀ)c - (t - Vγ)ᵀc,
// which costs as much as the problem without them, and γ <- γ + ρVᵀc now and then until Vᵀc = 0. With a prior
// variance τ the same scheme is the proximal point method: ρ becomes 1/(1/ρ + 1/τ).
//
// Where few coefficients are strictly between their bounds, as with features that nearly separate the
// classes, these steps of γ are many and small. There an active set (svm/active_set.hpp) takes over: at the
// start if a few members are enough, and again after some rounds.
#pragma once

#include <limits>

#include "svm/dual.hpp"
#include "svm/kernel_rows.hpp"

namespace grls {

struct NativeOptions {
  double tolerance = 1e-4;  // of the gap, relative to the primal value
  Index max_rounds = 0;
  double max_work = std::numeric_limits<double>::infinity();  // numbers that steps may touch
  double cache_bytes = 0;
  bool restores = false;  // whether what tolerances leave of Uᵀc is removed at the end
  double exact = 0;       // the gap that an active set then brings the solution to; 0: as it is
};

struct NativeSolution {
  Vector<double> c, gamma, image;  // image = Φc
  Certificate certificate;
  Index rounds = 0;
  bool converged = false;
  bool out_of_work = false;
};

// balanced: the first column of qp.U is constant, and τ = ∞. start: coefficients within the bounds
// to begin with, or empty; then a direction may help that has Uᵀc = 0 (svm/separation.hpp), or empty too.
template <class S>
NativeSolution decompose(const Context& context, const SvmQp& qp, bool balanced, const GramSource& source,
                         const IndexList& order, const NativeOptions& options, const Vector<double>& start,
                         const Vector<double>& direction);

// The same with kernel rows that are there already, and stay for the next problem on the same samples.
template <class S>
NativeSolution decompose(const Context& context, const SvmQp& qp, bool balanced, KernelRows<S>& rows,
                         const NativeOptions& options, const Vector<double>& start,
                         const Vector<double>& direction);

// Rows as many as `cache_bytes` hold, and as a working set needs.
template <class S>
KernelRows<S> decomposition_rows(const Context& context, const GramSource& source, const IndexList& order,
                                 double cache_bytes);

// Its memory for m samples, in double precision: kernel rows, and the matrices of two working sets.
double decomposition_bytes(Index m, double cache_bytes);

}  // namespace grls
