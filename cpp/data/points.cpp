#include "data/points.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/blas.hpp"
#include "base/errors.hpp"
#include "base/parallel.hpp"
#include "base/vmath.hpp"
#include "data/coordinates.hpp"

namespace grls {
namespace {

constexpr Index kScattered = 8;  // sparse rows held dense at a time: one or two vector registers

// Columns up to which each has a slot of its own, 64 MiB a thread. Beyond, slots are found by a hash, in
// memory of the order of the entries: the columns of sparse rows can be as many as an integer can count.
constexpr Index kOwnSlots = Index(1) << 20;

constexpr Index kStrip = 256;  // rows a task prepares

double work_of(Index rows, Index columns) {
  return 4.0 * static_cast<double>(rows) * static_cast<double>(columns);
}

void check_histogram(double value, Index row, Index column) {
  require(value >= 0, "a chi-squared kernel reads histograms, whose values are not negative; found ", value,
          " in row ", row, ", column ", column);
}

template <class S>
S chi_squared_share(S x, S z) {
  return x + z > 0 ? (x - z) * (x - z) / (x + z) : S(0);
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
  const Index read = columns_read(d);
  require(widths.empty() || static_cast<Index>(widths.size()) == read, "the kernel has ", widths.size(),
          " widths for ", read, " columns; give one width, or one per column");
  for (const double w : widths) check_width(w);
  require(periods.empty() || static_cast<Index>(periods.size()) == read, "the kernel has ", periods.size(),
          " periods for ", read, " columns; give one period, or one per column");
  for (const double p : periods) check_width(p, "periods");
  require(centre.empty() || static_cast<Index>(centre.size()) == read, "the kernel has a centre of ",
          centre.size(), " columns for ", read);
  require(map.empty() || static_cast<Index>(map.size()) == read * read, "the kernel has a map of ",
          map.size(), " numbers for ", read, " columns");
  for (const double value : map) require(std::isfinite(value), "a map must be finite, got ", value);
  require(radius >= 0 && std::isfinite(radius), "a radius must be positive, got ", radius);
  require(radius == 0 || read == 2, "a place on a sphere has two columns, latitude and longitude; got ",
          read);
  require(
      !is_mapped() || (widths.empty() && periods.empty() && centre.empty() && (map.empty() || radius == 0)),
      "columns that are mapped have no widths, periods or centre of their own");
}

std::vector<double> centre_of(const Context& context, const Rows& rows, const ColumnGroup& group,
                              const IndexList& some) {
  group.check(column_count(rows));
  if (!group.centre.empty() && !std::holds_alternative<CsrRows>(rows)) return group.centre;
  // Sparse rows stay sparse, and inner products alone need no centre.
  if (!(group.distances || group.manhattan) || std::holds_alternative<CsrRows>(rows)) return {};
  if (!group.periods.empty() || group.radius != 0)
    return std::vector<double>(static_cast<std::size_t>(group.dimension(column_count(rows))), 0.0);
  const IndexList columns = columns_read(group, column_count(rows));
  const Index n = some.empty() ? row_count(rows) : static_cast<Index>(some.size());
  const Index strips = (n + kStrip - 1) / kStrip;
  // One partial sum per strip, added up in order: the same whatever the number of threads.
  Matrix<double> sums = Matrix<double>::Zero(static_cast<Index>(columns.size()), strips);
  std::visit(
      [&](const auto& r) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(r)>, CsrRows>) {
          parallel_for(context, strips, workers_for(context, work_of(n, sums.rows())),
                       [&](Index t, const Worker&) {
                         for (Index i = t * kStrip; i < std::min(n, (t + 1) * kStrip); ++i) {
                           const auto* const row =
                               r.data + (some.empty() ? i : some[static_cast<std::size_t>(i)]) * r.d;
                           for (Index c = 0; c < sums.rows(); ++c)
                             sums(c, t) += static_cast<double>(row[columns[static_cast<std::size_t>(c)]]);
                         }
                       });
        }
      },
      rows);
  const Vector<double> mean = sums.rowwise().sum() / static_cast<double>(std::max<Index>(n, 1));
  return {mean.data(), mean.data() + mean.size()};
}

template <class S>
bool Points<S>::reads_in_place(const Rows& rows, const ColumnGroup& group) {
  return std::holds_alternative<DenseRows<S>>(rows) && group.columns.empty() && group.widths.empty() &&
         group.periods.empty() && group.centre.empty() && !group.is_mapped() && !group.chi_squared &&
         !group.manhattan && !group.mismatches;
}

template <class S>
Points<S>::Points(const Context& context, const Rows& rows, const ColumnGroup& group,
                  const std::vector<double>& centre, const IndexList& order) {
  group.check(column_count(rows));
  n_ = order.empty() ? row_count(rows) : static_cast<Index>(order.size());
  d_ = group.dimension(column_count(rows));
  if (group.mismatches && !group.widths.empty())
    for (Index c = 0; c < d_; ++c) shares_.push_back(static_cast<S>(1 / width(group, c)));
  std::visit([&](const auto& r) { load(context, r, group, centre, order); }, rows);
}

template <class S>
template <class T>
void Points<S>::load(const Context& context, const DenseRows<T>& rows, const ColumnGroup& group,
                     const std::vector<double>& centre, const IndexList& order) {
  if (group.mismatches) {  // labels stay as they are, in double precision
    const IndexList columns = columns_read(group, rows.d);
    labels_.resize(static_cast<std::size_t>(n_ * d_));
    for (Index i = 0; i < n_; ++i) {
      const T* const from = rows.data + (order.empty() ? i : order[static_cast<std::size_t>(i)]) * rows.d;
      for (Index c = 0; c < d_; ++c)
        labels_[static_cast<std::size_t>(c * n_ + i)] =
            static_cast<double>(from[columns[static_cast<std::size_t>(c)]]);
    }
    return;
  }
  centred_ = !centre.empty();
  by_row_ = group.distances && !centred_;
  const bool by_column =
      group.chi_squared || group.manhattan || (group.distances && centred_ && d_ <= kDirectColumns);
  const bool with_norms = group.distances && centred_ && !by_column,
             with_offsets = centred_ && group.products && group.centre.empty();
  bool copied = true;
  if constexpr (std::is_same_v<S, T>) copied = !reads_in_place(rows, group) || !order.empty() || centred_;
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
  const auto read = static_cast<Index>(columns.size());
  Vector<double> mu = Vector<double>::Zero(d_), inverse = Vector<double>::Ones(read);
  if (centred_) mu = Eigen::Map<const Vector<double>>(centre.data(), d_);
  for (Index c = 0; c < read; ++c) inverse[c] = 1 / width(group, c);
  Vector<S> scaled_mu;
  if (with_offsets) scaled_mu = mu.cwiseProduct(inverse).template cast<S>();
  const S half = scaled_mu.squaredNorm() / 2;
  const bool plain =
      group.columns.empty() && group.periods.empty() && !group.is_mapped() && !group.chi_squared;
  const auto place = [&](const T* from, Index row, S* to) {
    if (plain) {
      for (Index c = 0; c < read; ++c)
        to[c] = static_cast<S>((static_cast<double>(from[c]) - mu[c]) * inverse[c]);
      return;
    }
    if (group.is_mapped()) {
      Vector<double> x(read), mapped(d_);
      for (Index c = 0; c < read; ++c)
        x[c] = static_cast<double>(from[columns[static_cast<std::size_t>(c)]]) - mu[c];
      apply_map(group, x.data(), row, mapped.data());
      for (Index c = 0; c < d_; ++c) to[c] = static_cast<S>(mapped[c]);
      return;
    }
    for (Index c = 0; c < read; ++c) {
      const Index column = columns[static_cast<std::size_t>(c)];
      const auto x = static_cast<double>(from[column]);
      if (!group.periods.empty()) {
        const Wound wound(x, group.periods[static_cast<std::size_t>(c)]);
        to[2 * c] = static_cast<S>(wound.cosine * inverse[c]);
        to[2 * c + 1] = static_cast<S>(wound.sine * inverse[c]);
      } else {
        if (group.chi_squared) check_histogram(x, row, column);
        to[c] = static_cast<S>((x - mu[c]) * inverse[c]);
      }
    }
  };
  parallel_for(context, (n_ + kStrip - 1) / kStrip, workers_for(context, work_of(n_, d_)),
               [&](Index t, const Worker&) {
                 for (Index i = t * kStrip; i < std::min(n_, (t + 1) * kStrip); ++i) {
                   const Index source = order.empty() ? i : order[static_cast<std::size_t>(i)];
                   S* const to = owned_.get() + i * d_;
                   place(rows.data + source * rows.d, source, to);
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
  // Columns keep the order of the data, in which the entries of a row are sorted; what a group reads of two
  // points does not depend on it. sorted[p]: the column of the data at place p; named[p]: which of the
  // group's columns that is.
  IndexList sorted, named;
  if (!group.columns.empty()) {
    named.resize(group.columns.size());
    std::iota(named.begin(), named.end(), Index(0));
    std::sort(named.begin(), named.end(), [&](Index p, Index q) {
      return group.columns[static_cast<std::size_t>(p)] < group.columns[static_cast<std::size_t>(q)];
    });
    for (const Index p : named) {
      const Index column = group.columns[static_cast<std::size_t>(p)];
      require(sorted.empty() || sorted.back() < column, "kernel column ", column, " is named twice");
      sorted.push_back(column);
    }
  }
  const auto place = [&](Index column) -> Index {  // -1: the group does not read it
    if (sorted.empty()) return column;
    const auto found = std::lower_bound(sorted.begin(), sorted.end(), column);
    return found != sorted.end() && *found == column ? found - sorted.begin() : -1;
  };
  starts_.assign(1, 0);
  norms_.assign(static_cast<std::size_t>(n_), S(0));
  // <x - μ, z - μ> = <x, z> + offset(x) + offset(z), offset(x) = |μ|²/2 - <x, μ>: rows stay sparse.
  double half = 0;
  for (std::size_t c = 0; c < group.centre.size(); ++c) {
    const double mu = group.centre[c] / width(group, static_cast<Index>(c));
    half += mu * mu / 2;
  }
  if (!group.centre.empty()) offsets_.assign(static_cast<std::size_t>(n_), S(0));
  std::vector<double> raw(group.is_mapped() ? static_cast<std::size_t>(group.columns_read(rows.d)) : 0);
  Vector<double> mapped(group.is_mapped() ? d_ : 0);
  if (!shares_.empty() && !named.empty()) {  // shares follow the order of the data too
    const std::vector<S> shares = shares_;
    for (std::size_t p = 0; p < named.size(); ++p) shares_[p] = shares[static_cast<std::size_t>(named[p])];
  }
  for (Index i = 0; i < n_; ++i) {
    const auto push = [&](Index column, S value) {
      columns_.push_back(column);
      values_.push_back(value);
      norms_[static_cast<std::size_t>(i)] += group.chi_squared ? value
                                             : group.manhattan ? std::abs(value)
                                                               : value * value;
    };
    const Index from = order.empty() ? i : order[static_cast<std::size_t>(i)];
    double offset = half;
    std::fill(raw.begin(), raw.end(), 0.0);
    for (std::int64_t e = rows.starts[from]; e < rows.starts[from + 1]; ++e) {
      const Index p = place(rows.columns[e]);
      if (p < 0 || rows.values[e] == 0) continue;
      const Index c = named.empty() ? p : named[static_cast<std::size_t>(p)];
      if (group.is_mapped()) {
        raw[static_cast<std::size_t>(c)] = rows.values[e];
      } else if (group.mismatches) {
        push(p, S(0));
        labels_.push_back(rows.values[e]);
      } else if (group.periods.empty()) {
        if (group.chi_squared) check_histogram(rows.values[e], from, rows.columns[e]);
        const double value = rows.values[e] / width(group, c);
        if (static_cast<S>(value) != 0) push(p, static_cast<S>(value));  // it may underflow
        if (!group.centre.empty())
          offset -= value * group.centre[static_cast<std::size_t>(c)] / width(group, c);
      } else {
        const Wound wound(rows.values[e], group.periods[static_cast<std::size_t>(c)]);
        push(2 * p, static_cast<S>(wound.cosine / width(group, c)));
        push(2 * p + 1, static_cast<S>(wound.sine / width(group, c)));
      }
    }
    if (group.is_mapped()) {
      apply_map(group, raw.data(), from, mapped.data());
      for (Index c = 0; c < d_; ++c) push(c, static_cast<S>(mapped[c]));
    }
    if (!group.centre.empty()) offsets_[static_cast<std::size_t>(i)] = static_cast<S>(offset);
    starts_.push_back(static_cast<std::int64_t>(values_.size()));
  }
}

// Open addressing with at least as many free slots as taken ones; the columns of the last rows are removed
// before those of the next are set, so that the table stays clean between calls.
template <class S>
class Points<S>::HashedRows {
 public:
  HashedRows(Scratch& scratch, std::int64_t entries) : values_(scratch.scattered), columns_(scratch.hashed) {
    std::size_t slots = 64;
    while (slots < 2 * static_cast<std::size_t>(entries)) slots *= 2;
    if (columns_.size() < slots) {
      columns_.assign(slots, -1);
      values_.assign(slots * kScattered, S(0));
    }
    mask_ = columns_.size() - 1;
    shift_ = 64;
    for (std::size_t left = mask_; left > 0; left /= 2) --shift_;
  }

  // The slot of a column, or the free one where it would be.
  std::size_t slot(std::int64_t column) const {
    // The top bits: those below forget the top bits of the column.
    std::size_t at = static_cast<std::uint64_t>(column) * 0x9e3779b97f4a7c15ULL >> shift_;
    while (columns_[at] >= 0 && columns_[at] != column) at = (at + 1) & mask_;
    return at;
  }
  bool taken(std::size_t slot) const { return columns_[slot] >= 0; }
  void set(std::int64_t column, Index q, S value) {
    const std::size_t at = slot(column);
    if (!taken(at)) used_.push_back(at);
    columns_[at] = column;
    values_[at * kScattered + static_cast<std::size_t>(q)] = value;
  }
  const S* values(std::size_t slot) const { return values_.data() + slot * kScattered; }
  void clear() {
    for (const std::size_t at : used_) {
      columns_[at] = -1;
      std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(at * kScattered), kScattered, S(0));
    }
    used_.clear();
  }

 private:
  std::vector<S>& values_;
  std::vector<std::int64_t>& columns_;
  std::vector<std::size_t> used_;
  std::size_t mask_ = 0;
  int shift_ = 0;  // what leaves the bits of the mask
};

// out (ni, nj) = the sum of pair(x, z) over the entries x of a row of a, z the same entry of a row of b;
// pair(x, 0) = 0.
template <class S>
template <class Pair>
void Points<S>::sparse_sums(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                            Index ld, Scratch& scratch, const Pair& pair) {
  using Lanes = Eigen::Array<S, kScattered, 1>;
  const auto add_up = [&](Index j, Index width, const auto& lanes) {
    for (Index i = 0; i < ni; ++i) {
      Lanes sum = Lanes::Zero();
      for (std::int64_t e = a.starts_[i0 + i]; e < a.starts_[i0 + i + 1]; ++e)
        if (const S* const z = lanes(a.columns_[e])) sum += pair(a.values_[e], Eigen::Map<const Lanes>(z));
      for (Index q = 0; q < width; ++q) out[(j + q) * ld + i] = sum[q];
    }
  };
  const auto each_entry = [&](Index j, Index width, const auto& use) {
    for (Index q = 0; q < width; ++q)
      for (std::int64_t e = b.starts_[j0 + j + q]; e < b.starts_[j0 + j + q + 1]; ++e)
        use(b.columns_[e], q, b.values_[e]);
  };
  if (a.d_ <= kOwnSlots) {
    std::vector<S>& dense = scratch.scattered;  // (d, kScattered) row-major, all zero between calls
    if (static_cast<Index>(dense.size()) < a.d_ * kScattered)
      dense.assign(static_cast<std::size_t>(a.d_ * kScattered), S(0));
    const auto at = [&](std::int64_t column) { return static_cast<std::size_t>(column * kScattered); };
    for (Index j = 0; j < nj; j += kScattered) {
      const Index width = std::min(kScattered, nj - j);
      each_entry(j, width, [&](std::int64_t column, Index q, S value) {
        dense[at(column) + static_cast<std::size_t>(q)] = value;
      });
      add_up(j, width, [&](std::int64_t column) { return dense.data() + at(column); });
      each_entry(j, width, [&](std::int64_t column, Index q, S) {
        dense[at(column) + static_cast<std::size_t>(q)] = S(0);
      });
    }
    return;
  }
  for (Index j = 0; j < nj; j += kScattered) {
    const Index width = std::min(kScattered, nj - j);
    HashedRows hashed(scratch, b.starts_[j0 + j + width] - b.starts_[j0 + j]);
    each_entry(j, width, [&](std::int64_t column, Index q, S value) { hashed.set(column, q, value); });
    add_up(j, width, [&](std::int64_t column) -> const S* {
      const std::size_t slot = hashed.slot(column);
      return hashed.taken(slot) ? hashed.values(slot) : nullptr;
    });
    hashed.clear();
  }
}

// The sum of pair(x, z) over all entries of two sparse rows.
template <class S>
template <class Pair>
S Points<S>::merged_sum(const Points& a, Index i, const Points& b, Index j, const Pair& pair) {
  std::int64_t p = a.starts_[i], q = b.starts_[j];
  const std::int64_t p_end = a.starts_[i + 1], q_end = b.starts_[j + 1];
  S sum = 0;
  while (p < p_end || q < q_end) {
    const bool take_a = p < p_end && (q >= q_end || a.columns_[p] <= b.columns_[q]);
    const bool take_b = q < q_end && (p >= p_end || b.columns_[q] <= a.columns_[p]);
    sum += pair(take_a ? a.values_[p] : S(0), take_b ? b.values_[q] : S(0));
    p += take_a;
    q += take_b;
  }
  return sum;
}

template <class S>
void Points<S>::inner(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                      Index ld, Scratch& scratch) {
  if (a.sparse_) {
    sparse_sums(a, i0, ni, b, j0, nj, out, ld, scratch, [](S x, const auto& z) { return x * z; });
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
  return merged_sum(a, i, b, j, [](S x, S z) { return (x - z) * (x - z); });
}

template <class S>
void Points<S>::chi_squared(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                            Index ld, Scratch& scratch) {
  if (!a.sparse_) {
    for (Index j = 0; j < nj; ++j) {
      S* const column = out + j * ld;
      std::fill(column, column + ni, S(0));
      for (Index c = 0; c < a.d_; ++c)
        vmath::add_chi_squared(column, a.by_column_.get() + c * a.n_ + i0, ni,
                               b.by_column_[c * b.n_ + j0 + j]);
    }
    return;
  }
  // (x - z)² / (x + z) = x + z - 4xz / (x + z): only entries that both rows have need more than their sums.
  sparse_sums(a, i0, ni, b, j0, nj, out, ld, scratch, [](S x, const auto& z) { return x * z / (x + z); });
  for (Index j = 0; j < nj; ++j)
    for (Index i = 0; i < ni; ++i) {
      S& value = out[j * ld + i];
      const S size = a.norms_[i0 + i] + b.norms_[j0 + j];
      value = size - 4 * value;
      if (value < vmath::kCancellation<S> * size)
        value = merged_sum(a, i0 + i, b, j0 + j, chi_squared_share<S>);
    }
}

template <class S>
void Points<S>::manhattan(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                          Index ld, Scratch& scratch) {
  if (!a.sparse_) {
    for (Index j = 0; j < nj; ++j) {
      S* const column = out + j * ld;
      std::fill(column, column + ni, S(0));
      for (Index c = 0; c < a.d_; ++c)
        vmath::add_absolute_difference(column, a.by_column_.get() + c * a.n_ + i0, ni,
                                       b.by_column_[c * b.n_ + j0 + j]);
    }
    return;
  }
  // Σ |x - z| = Σ|x| + Σ|z| - Σ (|x| + |z| - |x - z|), of which the last has only entries of both rows.
  sparse_sums(a, i0, ni, b, j0, nj, out, ld, scratch,
              [](S x, const auto& z) { return z.abs() + std::abs(x) - (z - x).abs(); });
  for (Index j = 0; j < nj; ++j)
    for (Index i = 0; i < ni; ++i) {
      S& value = out[j * ld + i];
      const S size = a.norms_[i0 + i] + b.norms_[j0 + j];
      value = size - value;
      if (value < vmath::kCancellation<S> * size)
        value = merged_sum(a, i0 + i, b, j0 + j, [](S x, S z) { return std::abs(x - z); });
    }
}

template <class S>
void Points<S>::mismatches(const Points& a, Index i0, Index ni, const Points& b, Index j0, Index nj, S* out,
                           Index ld, Scratch&) {
  for (Index j = 0; j < nj; ++j) {
    S* const column = out + j * ld;
    std::fill(column, column + ni, S(0));
    if (!a.sparse_) {
      for (Index c = 0; c < a.d_; ++c)
        vmath::add_mismatch(column, a.labels_.data() + c * a.n_ + i0, ni, b.labels_[c * b.n_ + j0 + j],
                            a.share(c));
      continue;
    }
    for (Index i = 0; i < ni; ++i) {  // entries that only one of the rows has are not zero, and so differ
      std::int64_t p = a.starts_[i0 + i], q = b.starts_[j0 + j];
      const std::int64_t p_end = a.starts_[i0 + i + 1], q_end = b.starts_[j0 + j + 1];
      while (p < p_end || q < q_end) {
        const bool take_a = p < p_end && (q >= q_end || a.columns_[p] <= b.columns_[q]);
        const bool take_b = q < q_end && (p >= p_end || b.columns_[q] <= a.columns_[p]);
        if (!take_a || !take_b || a.labels_[p] != b.labels_[q])
          column[i] += a.share(take_a ? a.columns_[p] : b.columns_[q]);
        p += take_a;
        q += take_b;
      }
    }
  }
}

template <class S>
void Points<S>::self_products(S* out) const {
  for (Index i = 0; i < n_; ++i) {
    if (sparse_) {
      out[i] = norms_[static_cast<std::size_t>(i)];
    } else {
      out[i] = Eigen::Map<const Vector<S>>(rows_ + i * d_, d_).squaredNorm();
    }
    if (!offsets_.empty()) out[i] += 2 * offsets_[static_cast<std::size_t>(i)];
  }
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
  if (a.offsets_.empty()) return;
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
