// A block [from, to) of a triangle as the symmetric matrix it stands for: products and two-sided
// transformations.
#pragma once

#include "base/parallel.hpp"
#include "matrices/triangle.hpp"

namespace grls {

// Runs body(tile, worker) over the tiles of the block.
template <class S, class Body>
void for_tiles(const Context& context, const BlockTriangle<S>& A, Index from, Index to,
               double work_per_element, const Body& body) {
  const auto tiles = A.tiles(from, to);
  const double n = static_cast<double>(to - from);
  parallel_for(context, static_cast<Index>(tiles.size()),
               workers_for(context, 0.5 * work_per_element * n * n),
               [&](Index t, const Worker& worker) { body(tiles[static_cast<std::size_t>(t)], worker); });
}

// A X, X (to - from, r). Each block of rows is one task that adds its products in a fixed order: the sum does
// not depend on the number of threads.
template <class S>
Matrix<S> symmetric_times(const Context& context, const BlockTriangle<S>& A, Index from, Index to,
                          const Matrix<S>& X);

// A = MᵀAM with M = I - Z Vᵀ, V and Z (to - from, r): A - V Wᵀ - W Vᵀ, W = AZ - ½ V (ZᵀAZ).
template <class S>
void transform(const Context& context, BlockTriangle<S>& A, Index from, Index to, const Matrix<S>& V,
               const Matrix<S>& Z);

// Rows [first, last) of columns [0, columns), all of them below the diagonal.
template <class S>
Matrix<double> rows_of(const BlockTriangle<S>& A, Index first, Index last, Index columns);

// The block [from, to) as a full matrix; from is where a block column starts.
template <class S>
Matrix<double> symmetric_corner(const BlockTriangle<S>& A, Index from, Index to);

}  // namespace grls
