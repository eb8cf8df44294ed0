// The lower triangle of a symmetric matrix in block columns: half the memory of a square, and every block a
// plain column-major matrix that BLAS can work on in place. Phi, H and L live in it one after the other.
//
//   order  rows and columns in all
//   pivots leading columns to be factorised; the rest is the border, kept as one last block column
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/types.hpp"

namespace grls {

// Uninitialised memory, aligned to a cache line, in huge pages where the system grants them.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
  bool small_ = false;
};

constexpr Index kNarrowestBlock = 64;  // columns: all blocks but the last have this many or a multiple

template <class S>
class BlockTriangle {
 public:
  BlockTriangle(Index order, Index pivots);

  Index order() const { return order_; }
  Index pivots() const { return pivots_; }
  Index border() const { return order_ - pivots_; }

  Index block_columns() const { return static_cast<Index>(blocks_.size()); }
  Index pivot_block_columns() const { return block_columns() - (border() > 0 ? 1 : 0); }
  Index start(Index j) const { return blocks_[static_cast<std::size_t>(j)].start; }
  Index width(Index j) const { return blocks_[static_cast<std::size_t>(j)].width; }
  Index ld(Index j) const { return blocks_[static_cast<std::size_t>(j)].ld; }
  // Element (row, start(j)), row >= start(j); columns of the block are ld(j) apart.
  S* at(Index row, Index j) {
    return data() + blocks_[static_cast<std::size_t>(j)].offset + (row - start(j));
  }
  const S* at(Index row, Index j) const { return const_cast<BlockTriangle*>(this)->at(row, j); }

  // Element (row, column) of the pivot columns; the rest of the column follows.
  const S* column(Index row, Index col) const {
    const Index j = col / block_width_;
    return at(row, j) + (col - start(j)) * ld(j);
  }

  Index ld_of(Index col) const { return ld(col / block_width_); }

  // Rows in bands: the unit of parallel work. A pivot block's diagonal lies within one band.
  Index bands() const { return (order_ + band_rows_ - 1) / band_rows_; }
  Index band_of(Index row) const { return row / band_rows_; }
  // The rows of block column j in band g; first >= last where there are none.
  Index first_row(Index j, Index g) const { return std::max(start(j), g * band_rows_); }
  Index last_row(Index g) const { return std::min(order_, (g + 1) * band_rows_); }

  // Rows [first, last) of columns [column, column + columns), all of block column j.
  struct Tile {
    Index j, column, columns, first, last;
  };
  // The tiles of the square block [from, to): together they hold its lower triangle.
  std::vector<Tile> tiles(Index from, Index to) const;
  S* at(const Tile& t) { return at(t.first, t.j) + (t.column - start(t.j)) * ld(t.j); }

  // The elements of another triangle of the same layout.
  void set(const BlockTriangle& other);

  // The bytes of memory it takes; of an order beyond any memory about as many.
  static double bytes(Index order);

 private:
  struct Block {
    Index start, width, ld, offset;
  };
  S* data() const { return static_cast<S*>(buffer_.data()); }
  static std::vector<Block> layout(Index order, Index pivots, Index block_width);
  static std::size_t total_bytes(const std::vector<Block>& blocks);

  Index order_, pivots_, block_width_, band_rows_;
  std::vector<Block> blocks_;
  Buffer buffer_;
};

}  // namespace grls
