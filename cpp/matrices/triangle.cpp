#include "matrices/triangle.hpp"

#include <new>

#include "base/errors.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace grls {
namespace {

constexpr std::size_t kHugePage = std::size_t(1) << 21;

// Wide enough for a matrix product to run at full speed, narrow enough that the diagonal blocks, which one
// thread factorises while others wait, stay a small share.
Index choose_block_width(Index order) {
  if (order <= 512) return kNarrowestBlock;
  return kNarrowestBlock * (order <= 3072 ? 2 : 4);
}

Index choose_band_rows(Index order, Index block_width) {
  const Index wanted = order <= 3072 ? 4 : 8;
  return wanted * block_width;
}

}  // namespace

Buffer::Buffer(std::size_t bytes) {
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  data_ = ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t(alignment));
#if defined(__linux__)
  if (bytes >= kHugePage) madvise(data_, bytes, MADV_HUGEPAGE);  // a wish: without it the pages are small
#endif
  if (alignment == 64) small_ = true;
}

Buffer::~Buffer() { ::operator delete(data_, std::align_val_t(small_ ? 64 : kHugePage)); }

template <class S>
std::vector<typename BlockTriangle<S>::Block> BlockTriangle<S>::layout(Index order, Index pivots,
                                                                       Index block_width) {
  std::vector<Block> blocks;
  Index offset = 0;
  const auto push = [&](Index start, Index width) {
    // Columns start on cache lines, and not a multiple of a page apart, where they would share cache sets.
    constexpr Index line = 64 / sizeof(S);
    Index ld = (order - start + line - 1) / line * line;
    if (ld % (4096 / sizeof(S)) == 0) ld += line;
    blocks.push_back({start, width, ld, offset});
    offset += ld * width;
  };
  for (Index start = 0; start < pivots; start += block_width)
    push(start, std::min(block_width, pivots - start));
  if (order > pivots) push(pivots, order - pivots);
  return blocks;
}

template <class S>
std::size_t BlockTriangle<S>::total_bytes(const std::vector<Block>& blocks) {
  if (blocks.empty()) return 0;
  const Block& last = blocks.back();
  return sizeof(S) * static_cast<std::size_t>(last.offset + last.ld * last.width);
}

template <class S>
BlockTriangle<S>::BlockTriangle(Index order, Index pivots)
    : order_(order),
      pivots_(pivots),
      block_width_(choose_block_width(order)),
      band_rows_(choose_band_rows(order, block_width_)),
      blocks_(layout(order, pivots, block_width_)),
      buffer_(total_bytes(blocks_)) {
  require(pivots >= 0 && pivots <= order, "a triangle of order ", order, " cannot have ", pivots, " pivots");
}

template <class S>
void BlockTriangle<S>::set(const BlockTriangle& other) {
  require(other.order_ == order_ && other.pivots_ == pivots_, "the triangles are not of the same layout");
  std::copy_n(static_cast<const char*>(other.buffer_.data()), total_bytes(blocks_),
              static_cast<char*>(buffer_.data()));
}

template <class S>
double BlockTriangle<S>::bytes(Index order) {
  require_count(order, "rows");
  constexpr Index kBeyondMemory = Index(1) << 24;
  if (order > kBeyondMemory) {
    const auto rows = static_cast<double>(order);
    return 0.5 * sizeof(S) * rows * (rows + static_cast<double>(choose_block_width(order)));
  }
  return static_cast<double>(total_bytes(layout(order, order, choose_block_width(order))));
}

template <class S>
std::vector<typename BlockTriangle<S>::Tile> BlockTriangle<S>::tiles(Index from, Index to) const {
  std::vector<Tile> all;
  for (Index j = 0; j < block_columns() && start(j) < to; ++j) {
    const Index column = std::max(start(j), from), columns = std::min(start(j) + width(j), to) - column;
    if (columns <= 0) continue;
    for (Index g = band_of(column); g < bands(); ++g) {
      const Index first = std::max(column, first_row(j, g)), last = std::min(last_row(g), to);
      if (first < last) all.push_back({j, column, columns, first, last});
    }
  }
  return all;
}

template class BlockTriangle<double>;
template class BlockTriangle<float>;

}  // namespace grls
