// The rows of a data matrix as one group of kernel terms sees them: some of the columns, each divided by its
// own width, moved to a common centre, wound onto a circle, mapped or put on a sphere. Inner products,
// squared distances, sums of absolute differences, chi-squared distances of histograms and numbers of labels
// that differ come in tiles.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "base/parallel.hpp"
#include "base/types.hpp"

namespace grls {

// A data matrix owned by the caller.
template <class S>
struct DenseRows {  // (n, d), row-major
  const S* data;
  Index n, d;
};
struct CsrRows {  // (n, d), compressed sparse rows
  const double* values;
  const std::int64_t* columns;
  const std::int64_t* starts;
  Index n, d;
};
using Rows = std::variant<DenseRows<double>, DenseRows<float>, CsrRows>;

Index row_count(const Rows& rows);
Index column_count(const Rows& rows);
Rows slice(const Rows& rows, Index first, Index count);

// Which columns a group of kernel terms reads, and what it asks of them.
struct ColumnGroup {
  IndexList columns;           // empty: all of them
  std::vector<double> widths;  // one per column read; empty: 1
  // One per column read: a column x becomes two, the point on the unit circle at the angle 2πx / period;
  // empty: columns stay as they are.
  std::vector<double> periods;
  // One per column read: inner products are those of the points moved by it; empty: of the points themselves.
  std::vector<double> centre;
  // (c, c), row-major, where c columns are read: a row x becomes map x; empty: it stays as it is.
  std::vector<double> map;
  // Two columns, latitude and longitude in degrees, become the place on a sphere of this radius; 0: they do
  // not.
  double radius = 0;
  bool products = false;     // some term needs <x, z>
  bool distances = false;    // some term needs |x - z|²
  bool chi_squared = false;  // some term needs Σ (x - z)² / (x + z): then no value may be negative
  bool manhattan = false;    // some term needs Σ |x - z|
  bool mismatches = false;   // some term needs Σ [x ≠ z], each column's share divided by its width

  bool is_mapped() const { return !map.empty() || radius != 0; }
  // How many coordinates a point has.
  Index dimension(Index d) const { return radius != 0 ? 3 : columns_read(d) * (periods.empty() ? 1 : 2); }
  Index columns_read(Index d) const { return columns.empty() ? d : static_cast<Index>(columns.size()); }

  void check(Index d) const;
};

// The mean of the columns a group reads, over some of the rows or (empty) all. Distances do not change when
// both sides are moved by it, and |x|² + |z|² - 2<x, z> then keeps its digits for data far from the origin.
std::vector<double> centre_of(const Context& context, const Rows& rows, const ColumnGroup& group,
                              const IndexList& some = {});

template <class S>
class Points {
 public:
  // Whether the group reads the data as they are, without a copy.
  static bool reads_in_place(const Rows& rows, const ColumnGroup& group);

  // order: which row stands at each place; empty: as they come.
  // An empty centre for a group with distances: nothing is prepared, each distance is taken from the
  // differences. That is right for a handful of points against many, where preparing the many would cost
  // more.
  Points(const Context& context, const Rows& rows, const ColumnGroup& group,
         const std::vector<double>& centre, const IndexList& order = {});

  Index size() const { return n_; }

  // Per-thread scratch of the tile functions.
  struct Scratch {
    std::vector<S> scattered;  // some sparse rows side by side: a slot for each column, or for each hash
    std::vector<std::int64_t> hashed;  // which column a slot belongs to, or -1
  };

  void self_products(S* out) const;  // out (n) = <a_i, a_i>

  // out (ni, nj) = <a_i, b_j>, column-major
  static void products(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                       Index ld, Scratch& scratch);
  // out (ni, nj) = |a_i - b_j|²
  static void distances(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                        Index ld, Scratch& scratch);
  // out (ni, nj) = Σ (a_i - b_j)² / (a_i + b_j), where 0 / 0 is 0
  static void chi_squared(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                          Index ld, Scratch& scratch);
  // out (ni, nj) = Σ |a_i - b_j|
  static void manhattan(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                        Index ld, Scratch& scratch);
  // out (ni, nj) = Σ [a_i ≠ b_j] / width
  static void mismatches(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                         Index ld, Scratch& scratch);
  // Products and distances in one pass over the data.
  static void both(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* products,
                   S* distances, Index ld, Scratch& scratch);

 private:
  static constexpr Index kDirectColumns = 12;  // up to here differences are cheaper than a matrix product

  bool is_direct() const { return by_row_ || by_column_ != nullptr || d_ == 0; }

  template <class T>
  void load(const Context& context, const DenseRows<T>& rows, const ColumnGroup& group,
            const std::vector<double>& centre, const IndexList& order);
  void load(const Context& context, const CsrRows& rows, const ColumnGroup& group,
            const std::vector<double>& centre, const IndexList& order);

  static void inner(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                    Index ld, Scratch& scratch);
  static void to_distances(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                           Index ld);
  static void uncentre(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                       Index ld);
  static void direct(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                     Index ld);
  template <class Pair>
  static void sparse_sums(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                          Index ld, Scratch& scratch, const Pair& pair);
  // The slots of columns by their hashes, where there are too many columns for a slot each.
  class HashedRows;
  template <class Pair>
  static S merged_sum(const Points& a, Index i, const Points& b, Index j, const Pair& pair);
  static S exact_distance(const Points& a, Index i, const Points& b, Index j);
  S share(Index column) const { return shares_.empty() ? S(1) : shares_[static_cast<std::size_t>(column)]; }

  Index n_ = 0, d_ = 0;
  bool sparse_ = false, centred_ = false, by_row_ = false;
  const S* rows_ = nullptr;  // (n, d) row-major: the caller's, or owned_
  std::unique_ptr<S[]> owned_;
  std::unique_ptr<S[]> by_column_;  // (d, n) row-major, for the direct route
  std::vector<S> norms_;    // |x|² of the moved rows; of sparse histograms Σx, for absolute differences Σ|x|
  std::vector<S> offsets_;  // <x, z> = <x - μ, z - μ> + offset(x) + offset(z)
  std::vector<S> values_;   // sparse rows
  std::vector<double> labels_;  // of mismatches: (d, n) row-major, or of the entries of sparse rows
  std::vector<S> shares_;       // (d): what a mismatch in each column counts; empty: 1
  std::vector<std::int64_t> columns_, starts_;
};

}  // namespace grls
