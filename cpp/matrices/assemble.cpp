#include "matrices/assemble.hpp"

#include <algorithm>

namespace grls {
namespace {

template <class S>
void scale_tile(const Vector<S>& s, const typename BlockTriangle<S>::Tile& t, BlockTriangle<S>& A) {
  if (s.size() == 0) return;
  for (Index q = 0; q < t.columns; ++q) {
    Eigen::Map<Eigen::Array<S, Eigen::Dynamic, 1>> column(A.at(t) + q * A.ld(t.j), t.last - t.first);
    column *= s.segment(t.first, t.last - t.first).array() * s[t.column + q];
  }
}

}  // namespace

Index samples_of(const GramSource& source) {
  if (const auto* kernel = std::get_if<KernelOfRows>(&source)) return row_count(kernel->rows);
  return std::get<GivenGram>(source).m;
}

template <class S>
void fill_gram(const Context& context, const KernelTiles<S>& kernel, const Vector<double>& s,
               BlockTriangle<S>& A) {
  const Vector<S> roots = s.template cast<S>();
  std::vector<typename KernelTiles<S>::Scratch> scratch(static_cast<std::size_t>(context.threads()));
  for_tiles(context, A, 0, kernel.rows(), kernel.work(), [&](const auto& t, const Worker& worker) {
    kernel.evaluate(t.first, t.last - t.first, t.column, t.columns, A.at(t), A.ld(t.j),
                    scratch[static_cast<std::size_t>(worker.id())], {context, worker});
    scale_tile(roots, t, A);
  });
}

template <class S>
void fill_gram(const Context& context, const GivenGram& gram, const IndexList& order, const Vector<double>& s,
               BlockTriangle<S>& A) {
  const Vector<S> roots = s.template cast<S>();
  const auto place = [&](Index i) { return order.empty() ? i : order[static_cast<std::size_t>(i)]; };
  const Index count = order.empty() ? gram.m : static_cast<Index>(order.size());
  for_tiles(context, A, 0, count, 2.0, [&](const auto& t, const Worker&) {
    for (Index q = 0; q < t.columns; ++q) {
      const double* const from = gram.data + place(t.column + q) * gram.m;
      S* const to = A.at(t) + q * A.ld(t.j);
      for (Index i = t.first; i < t.last; ++i) to[i - t.first] = static_cast<S>(from[place(i)]);
    }
    scale_tile(roots, t, A);
  });
}

template <class S>
void fill_gram(const Context& context, const GramSource& source, const IndexList& order,
               const Vector<double>& s, BlockTriangle<S>& A) {
  if (const auto* kernel = std::get_if<KernelOfRows>(&source)) {
    fill_gram<S>(context, KernelTiles<S>(context, kernel->formula, kernel->rows, order), s, A);
  } else {
    fill_gram<S>(context, std::get<GivenGram>(source), order, s, A);
  }
}

template <class S>
void apply_basis(const Context& context, const Basis& basis, BlockTriangle<S>& A) {
  if (basis.rank() == 0) return;
  const Matrix<S> V = basis.V.cast<S>(), Z = basis.Z.cast<S>();
  transform(context, A, 0, V.rows(), V, Z);
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

#define GRLS_INSTANTIATE(S)                                                                              \
  template void fill_gram<S>(const Context&, const KernelTiles<S>&, const Vector<double>&,               \
                             BlockTriangle<S>&);                                                         \
  template void fill_gram<S>(const Context&, const GivenGram&, const IndexList&, const Vector<double>&,  \
                             BlockTriangle<S>&);                                                         \
  template void fill_gram<S>(const Context&, const GramSource&, const IndexList&, const Vector<double>&, \
                             BlockTriangle<S>&);                                                         \
  template void apply_basis<S>(const Context&, const Basis&, BlockTriangle<S>&);                         \
  template void set_border<S>(const Matrix<double>&, BlockTriangle<S>&);                                 \
  template void shift_diagonal<S>(double, Index, BlockTriangle<S>&);                                     \
  template Matrix<double> to_dense<S>(const BlockTriangle<S>&, Index);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls
