// Kernels: a formula over kernel terms, lowered from Python once, evaluated here in tiles.
#pragma once

#include <memory>
#include <vector>

#include "base/checkpoint.hpp"
#include "base/types.hpp"
#include "data/points.hpp"
#include "kernels/terms.hpp"

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

// <x, z> over all columns.
Formula linear_formula();

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
    std::vector<S> tiles, stack;
    typename Points<S>::Scratch points;
  };

  // out (ni, nj) = k(a_{i0 + i}, b_{j0 + j}), column-major, worked through in pieces that stay in cache.
  void evaluate(Index i0, Index ni, Index j0, Index nj, S* out, Index ld, Scratch& scratch,
                const Checkpoint& checkpoint = {}) const;
  // The same with the values of a row side by side: out (nj, ni) = k(a_{i0 + i}, b_{j0 + j}), column-major.
  void evaluate_rows(Index i0, Index ni, Index j0, Index nj, S* out, Index ld, Scratch& scratch,
                     const Checkpoint& checkpoint = {}) const;

  // What the terms read of a piece of the matrix: tiles (ni, nj), column-major and contiguous, in scratch.
  struct Quantities {
    const S* base;
    Index tile, per_group;  // per_group: 2 where some group gives products and distances
    const S* of(Index group, Quantity what) const {
      return base + (per_group * group + (what == Quantity::products ? 0 : per_group - 1)) * tile;
    }
  };
  Quantities quantities(Index i0, Index ni, Index j0, Index nj, Scratch& scratch,
                        const Checkpoint& checkpoint = {}) const;

  // Of a step that reads the diagonal: k(x, x)^(-1/2) of the kernel it finds, at the a_i and at the b_j.
  const S* row_roots(std::size_t step) const { return left().roots[step].data(); }
  const S* column_roots(std::size_t step) const { return right().roots[step].data(); }

  // Of the columns of group g: <b_j, b_j>, (columns).
  void self_products(std::size_t g, S* out) const { b_[g].self_products(out); }

  // An estimate of the elementary operations of one kernel value.
  double work() const;

 private:
  // One side of a tile: its points, one per column group, and roots, one per step.
  struct Side {
    const std::vector<Points<S>>& points;
    const std::vector<std::vector<S>>& roots;
  };
  Side left() const { return rows_are_points_ ? right() : Side{a_, roots_a_}; }
  Side right() const { return {b_, roots_b_}; }

  // Rows and columns of a piece: what is done between two looks whether to go on.
  struct Piece {
    Index rows, columns;
  };
  void set_pieces(const Rows& points);

  void evaluate(const Side& a, Index i0, Index ni, const Side& b, Index j0, Index nj, S* out, Index ld,
                Scratch& scratch, const Checkpoint& checkpoint) const;
  void evaluate_piece(const Side& a, Index i0, Index ni, const Side& b, Index j0, Index nj, S* out, Index ld,
                      Scratch& scratch) const;
  Quantities quantities(const Side& a, Index i0, Index ni, const Side& b, Index j0, Index nj,
                        Scratch& scratch, const Checkpoint& checkpoint) const;

  const Formula& formula_;
  bool is_sparse_, rows_are_points_ = true;
  Index n_rows_, n_columns_, d_;
  Index entries_ = 0, per_group_ = 1;              // of the longest row; tiles of what a column group gives
  Piece piece_, loaded_;                           // of kernel values; of one quantity
  std::vector<Points<S>> a_, b_;                   // one per column group
  std::vector<std::vector<double>> centres_;       // likewise
  std::vector<std::vector<S>> roots_a_, roots_b_;  // one per step, empty where it does not read the diagonal
};

// k(x_i, x_i)
template <class S>
Vector<S> kernel_diagonal(const Context& context, const Formula& formula, const Rows& rows);

}  // namespace grls
