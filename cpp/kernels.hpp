// Kernels: a formula over kernel terms, lowered from Python once, evaluated here in tiles.
#pragma once

#include <memory>
#include <vector>

#include "points.hpp"
#include "terms.hpp"
#include "types.hpp"

namespace grls {

class Formula {
 public:
  // Checks the steps: groups that exist and give what is asked of them, a stack that never runs dry,
  // parameters in range.
  Formula(std::vector<ColumnGroup> groups, std::vector<Step> steps);

  const std::vector<ColumnGroup>& groups() const { return groups_; }
  const std::vector<Step>& steps() const { return steps_; }
  Index depth() const { return depth_; }  // tiles on the stack at most

 private:
  std::vector<ColumnGroup> groups_;
  std::vector<Step> steps_;
  Index depth_ = 0;
};

// k(a_i, b_j) for one set of points against itself, or for other points against it.
template <class S>
class KernelTiles {
 public:
  KernelTiles(const Context& context, const Formula& formula, const Rows& points,
              const IndexList& order = {});
  // At most `expected_rows` others will be evaluated at a time: for a handful, nothing is prepared.
  KernelTiles(const Context& context, const Formula& formula, const Rows& points, Index expected_rows);
  // The a_i; until then they are the points themselves.
  void set_rows(const Context& context, const Rows& rows);

  Index rows() const { return n_rows_; }
  Index columns() const { return n_columns_; }

  struct Scratch {
    std::vector<S> tiles;
    typename Points<S>::Scratch points;
  };

  // out (ni, nj) = k(a_{i0 + i}, b_{j0 + j}), column-major, worked through in pieces that stay in cache.
  void evaluate(Index i0, Index ni, Index j0, Index nj, S* out, Index ld, Scratch& scratch) const;

  // An estimate of the elementary operations of one kernel value.
  double work() const;

 private:
  void evaluate_piece(Index i0, Index ni, Index j0, Index nj, S* out, Index ld, Scratch& scratch) const;
  const std::vector<Points<S>>& a() const { return rows_are_points_ ? b_ : a_; }
  const std::vector<std::vector<S>>& roots_a() const { return rows_are_points_ ? roots_b_ : roots_a_; }

  const Formula& formula_;
  bool is_sparse_, rows_are_points_ = true;
  Index n_rows_, n_columns_, d_;
  std::vector<Points<S>> a_, b_;              // one per column group
  std::vector<std::vector<double>> centres_;  // likewise
  // Of each step that normalises: k(x, x)^(-1/2) of the kernel it finds, at the a_i and at the b_j.
  std::vector<std::vector<S>> roots_a_, roots_b_;
};

// k(x_i, x_i)
template <class S>
Vector<S> kernel_diagonal(const Context& context, const Formula& formula, const Rows& rows);

}  // namespace grls
