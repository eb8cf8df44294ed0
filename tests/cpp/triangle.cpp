// Storage of half a matrix: every element of the lower triangle has one place, and lies in one tile.
#include "matrices/triangle.hpp"

#include <cstdint>
#include <set>

#include "base/errors.hpp"
#include "check.hpp"

using grls::BlockTriangle;
using grls::Index;

namespace {

const std::vector<std::pair<Index, Index>> kShapes = {
    {0, 0},   {1, 1},   {1, 0},     {2, 1},     {63, 63},   {64, 64},   {65, 64},
    {65, 65}, {97, 70}, {200, 129}, {512, 512}, {513, 512}, {700, 690}, {1025, 901}};

std::string shape(Index order, Index pivots) { return std::to_string(order) + ", " + std::to_string(pivots); }

// How many tiles of [from, to) hold each element.
template <class S>
std::vector<int> tiles_of_elements(const BlockTriangle<S>& A, Index from, Index to) {
  const Index n = A.order();
  std::vector<int> count(static_cast<std::size_t>(n * n), 0);
  for (const auto& t : A.tiles(from, to))
    for (Index c = t.column; c < t.column + t.columns; ++c)
      for (Index i = t.first; i < t.last; ++i) ++count[static_cast<std::size_t>(i * n + c)];
  return count;
}

template <class S>
void check_tiles(Index order, Index pivots, Index from, Index to) {
  const BlockTriangle<S> A(order, pivots);
  const auto count = tiles_of_elements(A, from, to);
  bool once = true, inside = true;
  for (Index i = 0; i < order; ++i)
    for (Index c = 0; c < order; ++c) {
      const int times = count[static_cast<std::size_t>(i * order + c)];
      const bool within = i >= from && i < to && c >= from && c < to;
      if (within && i >= c) once = once && times == 1;
      if (!within) inside = inside && times == 0;
      if (within && i < c) inside = inside && times <= 1;
    }
  CHECK_IN(shape(order, pivots), once);
  CHECK_IN(shape(order, pivots), inside);
}

template <class S>
void check_places(Index order, Index pivots) {
  BlockTriangle<S> A(order, pivots);
  std::set<const S*> places;
  bool lines = true, same = true;
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j); ++q) {
      const Index column = A.start(j) + q;
      lines = lines && reinterpret_cast<std::uintptr_t>(A.at(A.start(j), j) + q * A.ld(j)) % 64 == 0;
      for (Index i = column; i < order; ++i) {
        S* const place = A.at(i, j) + q * A.ld(j);
        *place = static_cast<S>(1000 * column + i % 1000);
        places.insert(place);
        if (column < pivots) same = same && A.column(i, column) == place;
      }
    }
  CHECK_IN(shape(order, pivots), lines);
  CHECK_IN(shape(order, pivots), same);
  CHECK_IN(shape(order, pivots), static_cast<Index>(places.size()) == order * (order + 1) / 2);
}

}  // namespace

TEST(triangle, every_element_is_in_one_tile) {
  for (const auto& [order, pivots] : kShapes) {
    check_tiles<double>(order, pivots, 0, order);
    check_tiles<float>(order, pivots, 0, order);
    check_tiles<double>(order, pivots, 0, pivots);
    check_tiles<double>(order, pivots, pivots, order);
    for (Index from = 32; from < pivots; from += 32 * 5) check_tiles<double>(order, pivots, from, pivots);
  }
}

TEST(triangle, every_element_has_a_place_of_its_own) {
  for (const auto& [order, pivots] : kShapes) {
    check_places<double>(order, pivots);
    check_places<float>(order, pivots);
  }
}

TEST(triangle, blocks_follow_each_other_and_the_border_is_the_last) {
  for (const auto& [order, pivots] : kShapes) {
    const BlockTriangle<double> A(order, pivots);
    Index next = 0;
    for (Index j = 0; j < A.block_columns(); ++j) {
      CHECK_IN(shape(order, pivots), A.start(j) == next && A.width(j) > 0);
      next += A.width(j);
    }
    CHECK_IN(shape(order, pivots), next == order);
    if (order > pivots) CHECK_IN(shape(order, pivots), A.start(A.block_columns() - 1) == pivots);
  }
}

TEST(triangle, bytes_are_about_half_a_square_whatever_the_order) {
  for (const Index order : {1000, 5000, 40000}) {
    const double half = 4.0 * static_cast<double>(order) * static_cast<double>(order);
    CHECK(BlockTriangle<double>::bytes(order) > half && BlockTriangle<double>::bytes(order) < 1.4 * half);
  }
  const Index most = std::numeric_limits<Index>::max(), edge = Index(1) << 24;
  CHECK(BlockTriangle<double>::bytes(most) > 1e38);
  CHECK(std::abs(BlockTriangle<float>::bytes(edge + 1) / BlockTriangle<float>::bytes(edge) - 1) < 1e-4);
  CHECK(check::throws<grls::InvalidArgument>([] { BlockTriangle<double>::bytes(-1); }, "negative"));
  CHECK(check::throws<grls::InvalidArgument>([] { BlockTriangle<double>(3, 4); }, "cannot have 4 pivots"));
}
