#include "matrices/symmetric.hpp"

#include <algorithm>

#include "matrices/products.hpp"

namespace grls {

template <class S>
Matrix<S> symmetric_times(const Context& context, const BlockTriangle<S>& A, Index from, Index to,
                          const Matrix<S>& X) {
  const Index n = to - from, r = X.cols();
  Matrix<S> out = Matrix<S>::Zero(n, r);
  struct Columns {  // [first, last) of block column j
    Index j, first, last;
  };
  std::vector<Columns> blocks;
  for (Index j = 0; j < A.block_columns(); ++j) {
    const Columns c{j, std::max(A.start(j), from), std::min(A.start(j) + A.width(j), to)};
    if (c.first < c.last) blocks.push_back(c);
  }
  const auto element = [&](Index row, const Columns& c) {
    return A.at(row, c.j) + (c.first - A.start(c.j)) * A.ld(c.j);
  };
  const double work = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(r);
  parallel_for(
      context, static_cast<Index>(blocks.size()), workers_for(context, work), [&](Index i, const Worker&) {
        const Columns& own = blocks[static_cast<std::size_t>(i)];
        const Index rows = own.last - own.first;
        S* const sum = out.data() + (own.first - from);
        for (Index p = 0; p < i; ++p) {
          const Columns& left = blocks[static_cast<std::size_t>(p)];
          blas::gemm<S>(blas::Op::none, blas::Op::none, rows, r, left.last - left.first, S(1),
                        element(own.first, left), A.ld(left.j), X.data() + (left.first - from), n, S(1), sum,
                        n);
        }
        const Eigen::Map<const Matrix<S>, 0, Eigen::OuterStride<>> lower(element(own.first, own), rows, rows,
                                                                         Eigen::OuterStride<>(A.ld(own.j)));
        const Matrix<S> diagonal = lower.template selfadjointView<Eigen::Lower>();
        blas::gemm<S>(blas::Op::none, blas::Op::none, rows, r, rows, S(1), diagonal.data(), rows,
                      X.data() + (own.first - from), n, S(1), sum, n);
        if (own.last < to)
          blas::gemm<S>(blas::Op::transpose, blas::Op::none, rows, r, to - own.last, S(1),
                        element(own.last, own), A.ld(own.j), X.data() + (own.last - from), n, S(1), sum, n);
      });
  return out;
}

template <class S>
void transform(const Context& context, BlockTriangle<S>& A, Index from, Index to, const Matrix<S>& V,
               const Matrix<S>& Z) {
  const Index n = to - from, r = V.cols();
  Matrix<S> W = symmetric_times(context, A, from, to, Z);
  W -= S(0.5) * product(V, transposed_product(Z, W));
  Matrix<S> left(n, 2 * r), right(n, 2 * r);
  left << V, W;
  right << W, V;
  for_tiles(context, A, from, to, 4.0 * static_cast<double>(r), [&](const auto& t, const Worker&) {
    blas::gemm<S>(blas::Op::none, blas::Op::transpose, t.last - t.first, t.columns, 2 * r, S(-1),
                  left.data() + (t.first - from), n, right.data() + (t.column - from), n, S(1), A.at(t),
                  A.ld(t.j));
  });
}

template <class S>
Matrix<double> rows_of(const BlockTriangle<S>& A, Index first, Index last, Index columns) {
  Matrix<double> out(last - first, columns);
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j) && A.start(j) + q < columns; ++q) {
      const S* const from = A.at(first, j) + q * A.ld(j);
      for (Index i = 0; i < last - first; ++i) out(i, A.start(j) + q) = static_cast<double>(from[i]);
    }
  return out;
}

template <class S>
Matrix<double> symmetric_corner(const BlockTriangle<S>& A, Index from, Index to) {
  const Index n = to - from;
  if (n == 0) return Matrix<double>(0, 0);
  const Matrix<double> lower = rows_of(A, from, to, to).rightCols(n);
  return lower.selfadjointView<Eigen::Lower>();
}

#define GRLS_INSTANTIATE(S)                                                                     \
  template Matrix<double> rows_of<S>(const BlockTriangle<S>&, Index, Index, Index);             \
  template Matrix<double> symmetric_corner<S>(const BlockTriangle<S>&, Index, Index);           \
  template Matrix<S> symmetric_times<S>(const Context&, const BlockTriangle<S>&, Index, Index,  \
                                        const Matrix<S>&);                                      \
  template void transform<S>(const Context&, BlockTriangle<S>&, Index, Index, const Matrix<S>&, \
                             const Matrix<S>&);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls
