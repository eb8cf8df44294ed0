#include "points.hpp"

#include <algorithm>
#include <numeric>

#include "blas.hpp"
#include "errors.hpp"
#include "parallel.hpp"
#include "vmath.hpp"

namespace grls {
namespace {

constexpr Index kScattered = 8;  // sparse rows held dense at a time: one or two vector registers

IndexList columns_read(const ColumnGroup& group, Index d) {
  if (!group.columns.empty()) return group.columns;
  IndexList all(static_cast<std::size_t>(d));
  std::iota(all.begin(), all.end(), Index(0));
  return all;
}

constexpr Index kStrip = 256;  // rows a task prepares

double work_of(Index rows, Index columns) {
  return 4.0 * static_cast<double>(rows) * static_cast<double>(columns);
}

double width(const ColumnGroup& group, Index c) {
  return group.widths.empty() ? 1.0 : group.widths[static_cast<std::size_t>(c)];
}

}  // namespace

Index row_count(const Rows& rows) {
  return std::visit([](const auto& r) { return r.n; }, rows);
}

Index column_count(const Rows& rows) {
  return std::visit([](const auto& r) { return r.d; }, rows);
}

Rows slice(const Rows& rows, Index first, Index count) {
  require(first >= 0 && count >= 0 && first + count <= row_count(rows), "rows ", first, " to ", first + count,
          " are out of range");
  return std::visit(
      [&](auto part) {
        if constexpr (std::is_same_v<decltype(part), CsrRows>) {
          part.starts += first;
        } else {
          part.data += first * part.d;
        }
        part.n = count;
        return Rows(part);
      },
      rows);
}

void ColumnGroup::check(Index d) const {
  for (const Index c : columns)
    require(c >= 0 && c < d, "kernel column ", c, " is out of range: the data have ", d, " columns");
  const Index read = columns.empty() ? d : static_cast<Index>(columns.size());
  require(widths.empty() || static_cast<Index>(widths.size()) == read, "the kernel has ", widths.size(),
          " widths for ", read, " columns; give one width, or one per column");
  for (const double w : widths) require(w > 0, "kernel widths must be positive, got ", w);
}

std::vector<double> centre_of(const Context& context, const Rows& rows, const ColumnGroup& group) {
  group.check(column_count(rows));
  // Sparse rows stay sparse, and inner products alone need no centre.
  if (!group.distances || std::holds_alternative<CsrRows>(rows)) return {};
  const IndexList columns = columns_read(group, column_count(rows));
  const Index n = row_count(rows), strips = (n + kStrip - 1) / kStrip;
  // One partial sum per strip, added up in order: the same whatever the number of threads.
  Matrix<double> sums = Matrix<double>::Zero(static_cast<Index>(columns.size()), strips);
  std::visit(
      [&](const auto& r) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(r)>, CsrRows>) {
          parallel_for(
              context, strips, workers_for(context, work_of(n, sums.rows())), [&](Index t, const Worker&) {
                for (Index i = t * kStrip; i < std::min(n, (t + 1) * kStrip); ++i)
                  for (Index c = 0; c < sums.rows(); ++c)
                    sums(c, t) += static_cast<double>(r.data[i * r.d + columns[static_cast<std::size_t>(c)]]);
              });
        }
      },
      rows);
  const Vector<double> mean = sums.rowwise().sum() / static_cast<double>(std::max<Index>(n, 1));
  return {mean.data(), mean.data() + mean.size()};
}

template <class S>
bool Points<S>::reads_in_place(const Rows& rows, const ColumnGroup& group) {
  return std::holds_alternative<DenseRows<S>>(rows) && group.columns.empty() && group.widths.empty();
}

template <class S>
Points<S>::Points(const Context& context, const Rows& rows, const ColumnGroup& group,
                  const std::vector<double>& centre, const IndexList& order) {
  group.check(column_count(rows));
  n_ = order.empty() ? row_count(rows) : static_cast<Index>(order.size());
  d_ = group.columns.empty() ? column_count(rows) : static_cast<Index>(group.columns.size());
  std::visit([&](const auto& r) { load(context, r, group, centre, order); }, rows);
}

template <class S>
template <class T>
void Points<S>::load(const Context& context, const DenseRows<T>& rows, const ColumnGroup& group,
                     const std::vector<double>& centre, const IndexList& order) {
  centred_ = !centre.empty();
  by_row_ = group.distances && !centred_;
  const bool by_column = group.distances && centred_ && d_ <= kDirectColumns;
  const bool with_norms = group.distances && centred_ && !by_column,
             with_offsets = centred_ && group.products;
  bool copied = true;
  if constexpr (std::is_same_v<S, T>)
    copied = !group.columns.empty() || !group.widths.empty() || !order.empty() || centred_;
  if (copied) {
    owned_.reset(new S[static_cast<std::size_t>(n_ * d_)]);
    rows_ = owned_.get();
  } else if constexpr (std::is_same_v<S, T>) {
    rows_ = rows.data;
    return;
  }
  if (by_column) by_column_.reset(new S[static_cast<std::size_t>(n_ * d_)]);
  if (with_norms) norms_.resize(static_cast<std::size_t>(n_));
  if (with_offsets) offsets_.resize(static_cast<std::size_t>(n_));

  // A column x becomes (x - μ) / width.
  const IndexList columns = columns_read(group, rows.d);
  Vector<double> mu = Vector<double>::Zero(d_), inverse = Vector<double>::Ones(d_);
  for (Index c = 0; c < d_; ++c) {
    if (centred_) mu[c] = centre[static_cast<std::size_t>(c)];
    inverse[c] = 1 / width(group, c);
  }
  const Vector<S> scaled_mu = mu.cwiseProduct(inverse).template cast<S>();
  const S half = scaled_mu.squaredNorm() / 2;
  parallel_for(
      context, (n_ + kStrip - 1) / kStrip, workers_for(context, work_of(n_, d_)),
      [&](Index t, const Worker&) {
        for (Index i = t * kStrip; i < std::min(n_, (t + 1) * kStrip); ++i) {
          const T* const from = rows.data + (order.empty() ? i : order[static_cast<std::size_t>(i)]) * rows.d;
          S* const to = owned_.get() + i * d_;
          if (group.columns.empty()) {
            for (Index c = 0; c < d_; ++c)
              to[c] = static_cast<S>((static_cast<double>(from[c]) - mu[c]) * inverse[c]);
          } else {
            for (Index c = 0; c < d_; ++c)
              to[c] = static_cast<S>(
                  (static_cast<double>(from[columns[static_cast<std::size_t>(c)]]) - mu[c]) * inverse[c]);
          }
          const Eigen::Map<const Vector<S>> row(to, d_);
          if (by_column)
            for (Index c = 0; c < d_; ++c) by_column_[static_cast<std::size_t>(c * n_ + i)] = to[c];
          if (with_norms) norms_[static_cast<std::size_t>(i)] = row.squaredNorm();
          if (with_offsets) offsets_[static_cast<std::size_t>(i)] = row.dot(scaled_mu) + half;
        }
      });
}

template <class S>
void Points<S>::load(const Context&, const CsrRows& rows, const ColumnGroup& group,
                     const std::vector<double>&, const IndexList& order) {
  sparse_ = true;
  // new_place[c]: where column c of the data stands in this group, or -1
  IndexList new_place;
  if (!group.columns.empty()) {
    new_place.assign(static_cast<std::size_t>(rows.d), -1);
    for (std::size_t p = 0; p < group.columns.size(); ++p) {
      Index& place = new_place[static_cast<std::size_t>(group.columns[p])];
      require(place < 0, "kernel column ", group.columns[p], " is named twice");
      place = static_cast<Index>(p);
    }
  }
  starts_.assign(1, 0);
  norms_.assign(static_cast<std::size_t>(n_), S(0));
  for (Index i = 0; i < n_; ++i) {
    const Index from = order.empty() ? i : order[static_cast<std::size_t>(i)];
    for (std::int64_t e = rows.starts[from]; e < rows.starts[from + 1]; ++e) {
      const Index c =
          new_place.empty() ? rows.columns[e] : new_place[static_cast<std::size_t>(rows.columns[e])];
      if (c < 0) continue;
      const S value = static_cast<S>(rows.values[e] / width(group, c));
      columns_.push_back(c);
      values_.push_back(value);
      norms_[static_cast<std::size_t>(i)] += value * value;
    }
    starts_.push_back(static_cast<std::int64_t>(values_.size()));
  }
}

template <class S>
void Points<S>::inner_sparse(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                             Index ld, Scratch& scratch) {
  std::vector<S>& dense = scratch.scattered;  // (d, kScattered) row-major, all zero between calls
  if (static_cast<Index>(dense.size()) < a.d_ * kScattered)
    dense.assign(static_cast<std::size_t>(a.d_ * kScattered), S(0));
  for (Index j = 0; j < nj; j += kScattered) {
    const Index width = std::min(kScattered, nj - j);
    const auto scatter = [&](bool set) {
      for (Index q = 0; q < width; ++q)
        for (std::int64_t e = b.starts_[j0 + j + q]; e < b.starts_[j0 + j + q + 1]; ++e) {
          S& place = dense[static_cast<std::size_t>(b.columns_[e] * kScattered + q)];
          place = set ? place + b.values_[e] : S(0);
        }
    };
    scatter(true);
    for (Index i = 0; i < ni; ++i) {
      Eigen::Array<S, kScattered, 1> sum = Eigen::Array<S, kScattered, 1>::Zero();
      for (std::int64_t e = a.starts_[i0 + i]; e < a.starts_[i0 + i + 1]; ++e)
        sum += a.values_[e] *
               Eigen::Map<const Eigen::Array<S, kScattered, 1>>(dense.data() + a.columns_[e] * kScattered);
      for (Index q = 0; q < width; ++q) out[(j + q) * ld + i] = sum[q];
    }
    scatter(false);
  }
}

template <class S>
void Points<S>::inner(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                      Index ld, Scratch& scratch) {
  if (a.sparse_) {
    inner_sparse(a, i0, ni, b, j0, nj, out, ld, scratch);
  } else {
    blas::gemm<S>(blas::Op::transpose, blas::Op::none, ni, nj, a.d_, S(1), a.rows_ + i0 * a.d_, a.d_,
                  b.rows_ + j0 * b.d_, b.d_, S(0), out, ld);
  }
}

template <class S>
S Points<S>::exact_distance(const Points& a, Index i, const Points& b, Index j) {
  if (!a.sparse_) {
    return vmath::squared_distance_of(a.rows_ + i * a.d_, b.rows_ + j * b.d_, a.d_);
  }
  // Sorted columns: the bindings see to it.
  std::int64_t p = a.starts_[i], q = b.starts_[j];
  const std::int64_t p_end = a.starts_[i + 1], q_end = b.starts_[j + 1];
  S sum = 0;
  while (p < p_end || q < q_end) {
    const bool take_a = p < p_end && (q >= q_end || a.columns_[p] <= b.columns_[q]);
    const bool take_b = q < q_end && (p >= p_end || b.columns_[q] <= a.columns_[p]);
    const S diff = (take_a ? a.values_[p] : S(0)) - (take_b ? b.values_[q] : S(0));
    sum += diff * diff;
    p += take_a;
    q += take_b;
  }
  return sum;
}

template <class S>
void Points<S>::to_distances(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                             Index ld) {
  for (Index j = 0; j < nj; ++j) {
    S* column = out + j * ld;
    const S b_norm = b.norms_[j0 + j];
    if (!vmath::squared_distance(column, a.norms_.data() + i0, ni, b_norm)) continue;
    for (Index i = 0; i < ni; ++i)
      if (column[i] < vmath::kCancellation<S> * (a.norms_[i0 + i] + b_norm))
        column[i] = exact_distance(a, i0 + i, b, j0 + j);
  }
}

template <class S>
void Points<S>::uncentre(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                         Index ld) {
  if (!a.centred_) return;
  for (Index j = 0; j < nj; ++j) {
    vmath::add(out + j * ld, a.offsets_.data() + i0, ni);
    vmath::shift(out + j * ld, ni, b.offsets_[j0 + j]);
  }
}

template <class S>
void Points<S>::direct(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                       Index ld) {
  if (a.by_row_) {
    for (Index i = 0; i < ni; ++i)
      vmath::squared_distances_to(a.rows_ + (i0 + i) * a.d_, b.rows_ + j0 * b.d_, nj, a.d_, out + i, ld);
    return;
  }
  for (Index j = 0; j < nj; ++j) {
    S* const column = out + j * ld;
    std::fill(column, column + ni, S(0));
    for (Index c = 0; c < a.d_; ++c)
      vmath::add_squared_difference(column, a.by_column_.get() + c * a.n_ + i0, ni,
                                    b.by_column_[c * b.n_ + j0 + j]);
  }
}

template <class S>
void Points<S>::products(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                         Index ld, Scratch& scratch) {
  inner(a, i0, ni, b, j0, nj, out, ld, scratch);
  uncentre(a, i0, ni, b, j0, nj, out, ld);
}

template <class S>
void Points<S>::distances(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                          Index ld, Scratch& scratch) {
  if (a.is_direct()) return direct(a, i0, ni, b, j0, nj, out, ld);
  inner(a, i0, ni, b, j0, nj, out, ld, scratch);
  to_distances(a, i0, ni, b, j0, nj, out, ld);
}

template <class S>
void Points<S>::both(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* products,
                     S* distances, Index ld, Scratch& scratch) {
  inner(a, i0, ni, b, j0, nj, products, ld, scratch);
  if (a.is_direct()) {
    direct(a, i0, ni, b, j0, nj, distances, ld);
  } else {
    for (Index j = 0; j < nj; ++j) std::copy_n(products + j * ld, ni, distances + j * ld);
    to_distances(a, i0, ni, b, j0, nj, distances, ld);
  }
  uncentre(a, i0, ni, b, j0, nj, products, ld);
}

template class Points<double>;
template class Points<float>;

}  // namespace grls
