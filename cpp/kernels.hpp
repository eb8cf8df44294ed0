// Kernels: a formula over kernel terms, lowered from Python once, evaluated here in tiles.
#pragma once

#include <memory>
#include <vector>

#include "points.hpp"
#include "types.hpp"

namespace grls {

// To add a kernel: a term here, its line in `apply_term` (kernels.cpp), its name in bindings/kernels.cpp,
// its class in python/grls/kernels.py.
enum class Term {
  constant,    // a
  linear,      // <x, z>
  polynomial,  // (<x, z> + a)^degree
  sigmoid,     // tanh(a <x, z> + b)
  gaussian,    // exp(-|x - z|² / (2 a²))
  laplace,     // exp(-|x - z| / a)
};
enum class Combine { sum, product, scale, power, exponential };

bool reads_products(Term term);
bool reads_distances(Term term);

// One step of a formula in postfix order: a term pushes a tile, a combination works on the top one or two.
struct Step {
  bool is_term = true;
  Term term = Term::constant;
  Combine combine = Combine::sum;
  Index group = 0;      // which ColumnGroup the term reads
  double a = 0, b = 0;  // parameters of the term, or the factor of Combine::scale
  int degree = 0;       // exponent of Term::polynomial and Combine::power
};

class Formula {
 public:
  // Checks the steps: groups that exist, a stack that never runs dry, parameters in range.
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
  const std::vector<Points<S>>& a() const { return a_.empty() ? b_ : a_; }

  const Formula& formula_;
  bool is_sparse_;
  Index n_rows_, n_columns_, d_;
  std::vector<Points<S>> a_, b_;              // one per column group
  std::vector<std::vector<double>> centres_;  // likewise
};

}  // namespace grls
