// A part of the dual small enough for its kernel matrix to stay in cache, solved by sequential minimal
// optimisation: steps along one or two coefficients, each to the best point of its line.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace grls {

// Some coefficients c between their bounds, the kernel matrix K between them, and the residuals t - f at
// their samples, which a step changes by -K·step. Each may have a part g(c) = ½ κc² + ε|c| of its own in what
// is minimised, κ on either side of zero; where that has a kink there, no step goes across zero.
template <class S>
class WorkingSet {
 public:
  // Room for n coefficients, the first `kept` of which were the last ones before: their K stays. The rest of
  // K is to be filled through row(), then set() called for all of them.
  void resize(Index n, Index kept);
  Index size() const { return n_; }
  Index stride() const { return stride_; }             // from one row of K to the next
  S* row(Index i) { return K_.data() + i * stride_; }  // k(x_i, x_j) for all j of the set
  void set(Index i, double c, double lower, double upper, double residual, double kappa_up = 0,
           double kappa_down = 0, double epsilon = 0);

  // Steps until no pair (balanced: Σc is kept) or no coefficient violates the optimality conditions by more
  // than `tolerance`, or `max_steps` are done. Returns the number of steps.
  Index solve(bool balanced, double tolerance, Index max_steps);

  double c(Index i) const { return c_[static_cast<std::size_t>(i)]; }

 private:
  void mark(Index i);
  void move(Index i, double to);
  double ceiling(std::size_t k) const { return has_kink_[k] && c_[k] < 0 ? 0 : upper_[k]; }
  double floor(std::size_t k) const { return has_kink_[k] && c_[k] > 0 ? 0 : lower_[k]; }
  Index block_of_best() const;  // of the blocks of kBlock coefficients
  Index solve_pairs(S tolerance, Index max_steps);
  Index solve_singles(S tolerance, Index max_steps);

  Index n_ = 0, stride_ = 0;
  // residual_: less κc; diagonal_: of K, and κ; up_, down_: what ε takes from a residual where the
  // coefficient grows or shrinks, infinite where it may not.
  std::vector<S> K_, last_K_, residual_, diagonal_, up_, down_, best_;
  std::vector<double> c_, lower_, upper_, kappa_up_, kappa_down_, epsilon_;
  std::vector<bool> has_kink_;
};

}  // namespace grls
