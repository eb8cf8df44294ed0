#include "assemble.hpp"

#include <algorithm>

namespace grls {
namespace {

// Runs body(tile, worker id) over all tiles below row and column m.
template <class S, class Body>
void for_tiles(const Context& context, const BlockTriangle<S>& A, Index m, double work_per_element,
               const Body& body) {
  const auto tiles = A.tiles(m);
  const double work = 0.5 * work_per_element * static_cast<double>(m) * static_cast<double>(m);
  parallel_for(context, static_cast<Index>(tiles.size()), workers_for(context, work),
               [&](Index t, const Worker& worker) { body(tiles[static_cast<std::size_t>(t)], worker.id()); });
}

// Columns of block j that lie below m: the border block may be wider.
template <class S>
Index columns_below(const BlockTriangle<S>& A, Index j, Index m) {
  return std::min(A.width(j), m - A.start(j));
}

template <class S>
void scale_tile(const Vector<S>& s, const typename BlockTriangle<S>::Tile& t, Index columns,
                BlockTriangle<S>& A) {
  if (s.size() == 0) return;
  for (Index q = 0; q < columns; ++q) {
    Eigen::Map<Eigen::Array<S, Eigen::Dynamic, 1>> column(A.at(t.first, t.j) + q * A.ld(t.j),
                                                          t.last - t.first);
    column *= s.segment(t.first, t.last - t.first).array() * s[A.start(t.j) + q];
  }
}

}  // namespace

template <class S>
void fill_gram(const Context& context, const KernelTiles<S>& kernel, const Vector<double>& s,
               BlockTriangle<S>& A) {
  const Vector<S> roots = s.template cast<S>();
  std::vector<typename KernelTiles<S>::Scratch> scratch(static_cast<std::size_t>(context.threads()));
  for_tiles(context, A, kernel.rows(), kernel.work(), [&](const auto& t, int worker) {
    const Index columns = columns_below(A, t.j, kernel.rows());
    kernel.evaluate(t.first, t.last - t.first, A.start(t.j), columns, A.at(t.first, t.j), A.ld(t.j),
                    scratch[static_cast<std::size_t>(worker)]);
    scale_tile(roots, t, columns, A);
  });
}

template <class S>
void fill_gram(const Context& context, const GivenGram& gram, const IndexList& order, const Vector<double>& s,
               BlockTriangle<S>& A) {
  const Vector<S> roots = s.template cast<S>();
  for_tiles(context, A, gram.m, 2.0, [&](const auto& t, int) {
    const Index columns = columns_below(A, t.j, gram.m);
    for (Index q = 0; q < columns; ++q) {
      const Index column = A.start(t.j) + q;
      const Index from = order.empty() ? column : order[static_cast<std::size_t>(column)];
      S* const to = A.at(t.first, t.j) + q * A.ld(t.j);
      for (Index i = t.first; i < t.last; ++i)
        to[i - t.first] = static_cast<S>(
            gram.data[from * gram.m + (order.empty() ? i : order[static_cast<std::size_t>(i)])]);
    }
    scale_tile(roots, t, columns, A);
  });
}

// Each block of rows is one task that adds its products in a fixed order: the sum does not depend on the
// number of threads.
template <class S>
Matrix<S> symmetric_times(const Context& context, const BlockTriangle<S>& A, Index m, const Matrix<S>& X) {
  const Index r = X.cols();
  Matrix<S> out = Matrix<S>::Zero(m, r);
  const double work = static_cast<double>(m) * static_cast<double>(m) * static_cast<double>(r);
  Index blocks = 0;
  while (blocks < A.block_columns() && A.start(blocks) < m) ++blocks;
  parallel_for(context, blocks, workers_for(context, work), [&](Index i, const Worker&) {
    const Index first = A.start(i), rows = columns_below(A, i, m), below = first + rows;
    for (Index j = 0; j < i; ++j)
      blas::gemm<S>(blas::Op::none, blas::Op::none, rows, r, A.width(j), S(1), A.at(first, j), A.ld(j),
                    X.data() + A.start(j), m, S(1), out.data() + first, m);
    const Eigen::Map<const Matrix<S>, 0, Eigen::OuterStride<>> lower(A.at(first, i), rows, rows,
                                                                     Eigen::OuterStride<>(A.ld(i)));
    const Matrix<S> diagonal = lower.template selfadjointView<Eigen::Lower>();
    blas::gemm<S>(blas::Op::none, blas::Op::none, rows, r, rows, S(1), diagonal.data(), rows,
                  X.data() + first, m, S(1), out.data() + first, m);
    if (below < m)
      blas::gemm<S>(blas::Op::transpose, blas::Op::none, rows, r, m - below, S(1), A.at(below, i), A.ld(i),
                    X.data() + below, m, S(1), out.data() + first, m);
  });
  return out;
}

template <class S>
void apply_basis(const Context& context, const Basis& basis, BlockTriangle<S>& A) {
  const Index m = basis.V.rows(), r = basis.rank();
  if (r == 0) return;
  const Matrix<S> V = basis.V.cast<S>(), Z = basis.Z.cast<S>();
  Matrix<S> W = symmetric_times(context, A, m, Z);
  W -= S(0.5) * V * (Z.transpose() * W);
  Matrix<S> left(m, 2 * r), right(m, 2 * r);
  left << V, W;
  right << W, V;
  for_tiles(context, A, m, 4.0 * static_cast<double>(r), [&](const auto& t, int) {
    blas::gemm<S>(blas::Op::none, blas::Op::transpose, t.last - t.first, columns_below(A, t.j, m), 2 * r,
                  S(-1), left.data() + t.first, m, right.data() + A.start(t.j), m, S(1), A.at(t.first, t.j),
                  A.ld(t.j));
  });
}

template <class S>
void set_border(const Matrix<double>& B, BlockTriangle<S>& A) {
  const Index m = B.rows(), k = B.cols();
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j); ++q) {
      const Index column = A.start(j) + q;
      S* const to = A.at(m, j) + q * A.ld(j);
      for (Index p = 0; p < k; ++p) to[p] = column < m ? static_cast<S>(B(column, p)) : S(0);
    }
}

template <class S>
void shift_diagonal(double shift, Index count, BlockTriangle<S>& A) {
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j) && A.start(j) + q < count; ++q)
      A.at(A.start(j), j)[q * A.ld(j) + q] += static_cast<S>(shift);
}

template <class S>
Matrix<double> to_dense(const BlockTriangle<S>& A, Index n) {
  Matrix<double> out(n, n);
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j) && A.start(j) + q < n; ++q) {
      const Index column = A.start(j) + q;
      for (Index i = column; i < n; ++i)
        out(i, column) = out(column, i) = static_cast<double>(A.at(i, j)[q * A.ld(j)]);
    }
  return out;
}

#define GRLS_INSTANTIATE(S)                                                                                \
  template void fill_gram<S>(const Context&, const KernelTiles<S>&, const Vector<double>&,                 \
                             BlockTriangle<S>&);                                                           \
  template void fill_gram<S>(const Context&, const GivenGram&, const IndexList&, const Vector<double>&,    \
                             BlockTriangle<S>&);                                                           \
  template void apply_basis<S>(const Context&, const Basis&, BlockTriangle<S>&);                           \
  template void set_border<S>(const Matrix<double>&, BlockTriangle<S>&);                                   \
  template void shift_diagonal<S>(double, Index, BlockTriangle<S>&);                                       \
  template Matrix<S> symmetric_times<S>(const Context&, const BlockTriangle<S>&, Index, const Matrix<S>&); \
  template Matrix<double> to_dense<S>(const BlockTriangle<S>&, Index);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls
