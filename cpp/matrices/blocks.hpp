// Right-hand sides side by side, X (n, k), worked on some rows at a time. What is summed over the rows does
// not depend on the number of threads.
#pragma once

#include <algorithm>
#include <vector>

#include "base/parallel.hpp"
#include "base/types.hpp"

namespace grls {

// One row per unknown, so that a sparse product reads contiguous numbers.
using RowBlock = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using PerColumn = Eigen::ArrayXd;  // (k): one number per right-hand side

constexpr Index kBlockRows = 1024;  // rows that are worked on at once

template <class Block>
double size_of(const Block& X) {
  return static_cast<double>(X.size());
}

// f(first, count) for pieces of `rows` rows, whose bounds do not depend on the threads.
template <class F>
void for_rows(const Context& context, Index rows, double work, const F& f) {
  parallel_for(
      context, (rows + kBlockRows - 1) / kBlockRows, workers_for(context, work),
      [&](Index t, const Worker&) { f(t * kBlockRows, std::min(kBlockRows, rows - t * kBlockRows)); });
}

// Σ over all rows of f(first, count, part), part an (r, k) array, added up in order.
template <class F>
RowBlock sum_rows(const Context& context, Index rows, Index r, Index k, double work, const F& f) {
  std::vector<RowBlock> parts(static_cast<std::size_t>((rows + kBlockRows - 1) / kBlockRows));
  for_rows(context, rows, work, [&](Index first, Index count) {
    RowBlock part(r, k);
    f(first, count, part);
    parts[static_cast<std::size_t>(first / kBlockRows)] = std::move(part);
  });
  RowBlock sum = RowBlock::Zero(r, k);
  for (const RowBlock& part : parts) sum += part;
  return sum;
}

// The inner products of the columns of X with those of Y.
template <class Block>
PerColumn dot(const Context& context, const Block& X, const Block& Y) {
  return sum_rows(
             context, X.rows(), 1, X.cols(), 2 * size_of(X),
             [&](Index first, Index count, RowBlock& part) {
               part =
                   (X.middleRows(first, count).array() * Y.middleRows(first, count).array()).colwise().sum();
             })
      .row(0)
      .transpose();
}

// Y += a X
template <class Block>
void add_scaled(const Context& context, double a, const Block& X, Block& Y) {
  for_rows(context, X.rows(), 2 * size_of(X),
           [&](Index first, Index count) { Y.middleRows(first, count) += a * X.middleRows(first, count); });
}

}  // namespace grls
