// Quantile regression of scores with a kernel part and free features, as a path that is piecewise linear and
// exact.
//
// The dual for n scores s, kernel matrix Φ (or none) and features T (n, r) of full rank,
//   min_c ½ cᵀΦc - sᵀc    s.t.  lower ≤ c ≤ upper,  Tᵀc = q,      f = Φc + Tβ,
// is followed while s and q move on a straight line. A row is free (strictly between the bounds, s_i = f_i),
// at the upper bound (s_i ≥ f_i) or at the lower one (s_i ≤ f_i); F are the free ones. Per unit of the way
//   [ 0    T_Fᵀ ] [ dβ ]   [ dq   ]
//   [ T_F  Φ_FF ] [ dc ] = [ ds_F ],      d(s - f) = ds - T dβ - Φ_·F dc,
// until a free c reaches a bound or the residual of another row reaches zero. Where a row that leaves F is
// all that holds a direction of β, β slides along it, c and the parameter standing still, until another row
// takes its place: without a kernel that is every step, the pivot of a simplex method. Where a row that joins
// makes the matrix singular (kernels of low rank, copies of a row) c slides, f standing still, until
// another row has left.
#pragma once

#include <functional>
#include <vector>

#include "base/types.hpp"

namespace grls {

struct PinballProblem {
  const double* kernel = nullptr;  // (n, n) symmetric; nullptr: there is no kernel part
  Matrix<double> T;                // (n, r), of full column rank, columns of a similar size
  Vector<double> scores;           // (n)
  double lower = 0, upper = 0;     // lower < 0 < upper

  Index rows() const { return scores.size(); }
  const double* kernel_row(Index i) const { return kernel + i * rows(); }
};

// Throws InvalidArgument unless shapes and numbers can be right.
void check_problem(const PinballProblem& problem);

// The scores, no two of them equal: moved by 1e-10 of their range or less, the same way each time. Ties would
// make steps of length zero, in which a path may turn in circles.
Vector<double> without_ties(const Vector<double>& scores);

enum class PathEnd {
  arrived,
  unbounded,  // the constraints let the way go no further: β slides to infinity
  exhausted,  // too many steps
};

class PinballPath {
 public:
  // `problem` must outlive the path.
  explicit PinballPath(const PinballProblem& problem);

  // The optimum of the problem itself, from any c (n), which is made an optimum of other scores and another q
  // first; empty: from the least-squares fit. poll: called in each step, and within long ones.
  PathEnd solve(const Vector<double>& start, const std::function<void()>& poll);

  // Takes over an optimum with the free rows F; c of other rows is at the bound that it is nearer to.
  void restore(const Vector<double>& c, const IndexList& free, const std::function<void()>& poll);

  // Goes on from an optimum, ds (n) and dq (r) per unit, for `length` units. It stops before a change of F
  // that falls together with the end, so that β and f are those that the way leads to from where it came.
  PathEnd follow(const Vector<double>& ds, const Vector<double>& dq, double length,
                 const std::function<void()>& poll);

  // Makes the residuals of free rows zero and Tᵀc = q for the residuals as they are; see `residual`.
  void correct(const Vector<double>& q);

  // How far this is from an optimum: residuals of the wrong sign in units of `scale`, c outside the bounds
  // and Tᵀc - q in units of their distance.
  double violation(const Vector<double>& q, double scale) const;

  const Vector<double>& c() const { return c_; }
  const Vector<double>& beta() const { return beta_; }
  const IndexList& free() const { return free_; }
  const Vector<double>& residual() const { return residual_; }
  void set_residual(const Vector<double>& residual) { residual_ = residual; }
  // s - f for the scores of the problem, from scratch.
  Vector<double> fresh_residual() const;
  Index steps() const { return steps_; }

 private:
  enum class Kind { none, leaves, joins };
  struct Event {
    Kind kind = Kind::none;
    Index which = -1;  // a place in F that leaves, or a row that joins
    double step = 0;
  };

  Index size() const { return r_ + static_cast<Index>(free_.size()); }
  bool has_kernel() const { return problem_->kernel != nullptr; }
  double value(Index i, Index j) const { return has_kernel() ? problem_->kernel_row(i)[j] : 0; }
  double width() const { return problem_->upper - problem_->lower; }
  Vector<double> column(Index i) const;
  void rebuild(const std::function<void()>& poll);
  void add_kernel_part(Vector<double>& out, double factor) const;
  void direction(const Vector<double>& ds, const Vector<double>& dq, const std::function<void()>& poll);
  double direction_error(const Vector<double>& ds, const Vector<double>& dq, Vector<double>& left) const;
  Event nearest(double remaining) const;
  void advance(double step);
  bool leave(Index place, const std::function<void()>& poll);
  bool slide(Index place, double sign, const std::function<void()>& poll);
  void join(Index row, const std::function<void()>& poll);
  void swap_in(Index row, const Vector<double>& z, const std::function<void()>& poll);
  void append(Index row, const Vector<double>& z, double schur);
  void remove(Index place);
  void exchange(Index place, Index row, const std::function<void()>& poll);
  bool is_independent(Index row, double schur) const;
  void put_at_bound(Index row, bool upper);
  IndexList spanning_rows(const Vector<double>& preference) const;
  void begin_cold(const std::function<void()>& poll);
  void begin_warm(const Vector<double>& start, const std::function<void()>& poll);

  const PinballProblem* problem_;
  Index n_, r_;
  IndexList free_;
  std::vector<signed char> side_;  // (n) 1 at the upper bound, -1 at the lower one, 0 free
  Vector<double> c_, beta_, residual_;
  Matrix<double> inverse_;    // (r + |F|)²
  Vector<double> dz_, dres_;  // the direction: (dβ, dc_F), d(s - f)
  double unit_;               // the range of the scores
  double trace_ = 0;          // of Φ_FF
  Index steps_ = 0;
};

}  // namespace grls
