#include "nystrom/nystrom.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/blas.hpp"
#include "base/errors.hpp"
#include "kernels/predict.hpp"

namespace grls {
namespace {

constexpr Index kStrips = 8;                      // strips of rows that threads evaluate and whiten
constexpr Index kMostRows = 1024;                 // of a strip
constexpr Index kLeaf = 128;                      // columns the library solves for at a time
constexpr Index kTile = 256;                      // rows and columns of the sums a task adds to
constexpr Index kBlock = 512;                     // rows of a tile of the matrix-free sums, at most
constexpr Index kSymmetricTile = 256;             // rows and columns of a tile of a symmetric kernel matrix
constexpr Index kSymmetricPiece = 128;            // of it that is multiplied by many columns at a time
constexpr Index kFewColumns = 4;                  // that the whole tile is multiplied by at once
constexpr Index kMostColumns = 48;                // of a product with a piece
constexpr Index kSingle = 1024;                   // rows whose products are added up in single precision
constexpr Index kChunkElements = Index(1) << 24;  // of A at a time: 128 MiB in double precision
constexpr Index kParts = 32;                      // partial sums of the matrix-free products

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

// Rows of p numbers in a strip; kStrips of them are held at a time.
Index strip_rows(Index p) {
  return std::clamp(kChunkElements / std::max<Index>(p, 1) / kStrips / 64 * 64, Index(128), kMostRows);
}

Index rows_of(const KernelValues& kernel) {
  if (const auto* at = std::get_if<KernelAtCentres>(&kernel)) return row_count(at->rows);
  return std::get<GivenKernelValues>(kernel).n;
}

Index centres_of(const KernelValues& kernel) {
  if (const auto* at = std::get_if<KernelAtCentres>(&kernel)) return row_count(at->centres);
  return std::get<GivenKernelValues>(kernel).columns;
}

void check(const Whitening& w, const KernelValues& kernel) {
  require(w.L.rows() == w.L.cols() && w.E.rows() == w.L.rows(), "the factor of the centres has shape (",
          w.L.rows(), ", ", w.L.cols(), "), their features (", w.E.rows(), ", ", w.E.cols(), ")");
  require(centres_of(kernel) == w.centres(), "there are ", centres_of(kernel),
          " centres, but the factor and ", "the features are those of ", w.centres());
}

// Rows b(x) chunk by chunk.
template <class S>
class WhitenedRows {
 public:
  WhitenedRows(const Context& context, const Whitening& whitening, const KernelValues& kernel)
      : context_(context),
        values_(kernel),
        E_(whitening.E.cast<S>()),
        L_(whitening.L.cast<S>()),
        scratch_(static_cast<std::size_t>(context.threads())) {
    if (const auto* at = std::get_if<KernelAtCentres>(&kernel))
      tiles_.emplace(context, at->formula, at->centres);
  }

  Index rank() const { return L_.rows(); }

  // B (count, r), columns ld apart = b of the rows first … first + count - 1; `after(from, rows)` is called
  // for each strip when it is done, by the thread that has it in its cache.
  template <class After>
  void fill(Index first, Index count, Index strip, S* B, Index ld, const After& after) {
    if (tiles_) tiles_->set_rows(context_, slice(std::get<KernelAtCentres>(values_).rows, first, count));
    const Index r = rank(), q = E_.cols();
    at_pivots_.resize(count, q);
    const double work = static_cast<double>(count) * static_cast<double>(r) *
                        ((tiles_ ? tiles_->work() : 2.0) + static_cast<double>(r + q));
    parallel_for(context_, ceil_div(count, strip), workers_for(context_, work),
                 [&](Index t, const Worker& worker) {
                   const Index from = t * strip, n = std::min(strip, count - from);
                   evaluate(first, from, n, 0, r, B + from, ld, worker);
                   if (q > 0) {
                     S* const pivots = at_pivots_.data() + from;
                     evaluate(first, from, n, r, q, pivots, count, worker);
                     blas::gemm<S>(blas::Op::none, blas::Op::transpose, n, r, q, S(-1), pivots, count,
                                   E_.data(), r, S(1), B + from, ld);
                   }
                   whiten(n, 0, r, B + from, ld);
                   after(from, n);
                 });
  }

 private:
  // Columns first … first + r - 1 of B (n, rank), in place: B L⁻ᵀ, given that those before are done with.
  // Halves, so that nearly all is done by products, which are twice as fast as the library's solver.
  void whiten(Index n, Index first, Index r, S* B, Index ld) const {
    const Index order = rank(), half = r / 2, rest = r - half;
    const S* const corner = L_.data() + first * order + first;
    if (r <= kLeaf) {
      blas::trsm_right_lower_transposed<S>(n, r, corner, order, B + first * ld, ld);
      return;
    }
    whiten(n, first, half, B, ld);
    blas::gemm<S>(blas::Op::none, blas::Op::transpose, n, rest, half, S(-1), B + first * ld, ld,
                  corner + half, order, S(1), B + (first + half) * ld, ld);
    whiten(n, first + half, rest, B, ld);
  }

  // out (n, columns) = kernel values of the rows first + from … with the centres j0 …
  void evaluate(Index first, Index from, Index n, Index j0, Index columns, S* out, Index ld,
                const Worker& worker) {
    if (tiles_) {
      tiles_->evaluate(from, n, j0, columns, out, ld, scratch_[static_cast<std::size_t>(worker.id())],
                       {context_, worker});
      return;
    }
    const auto& given = std::get<GivenKernelValues>(values_);
    for (Index i = 0; i < n; ++i) {
      const double* const row = given.data + (first + from + i) * given.columns + j0;
      for (Index j = 0; j < columns; ++j) out[j * ld + i] = static_cast<S>(row[j]);
    }
  }

  const Context& context_;
  const KernelValues& values_;
  Matrix<S> E_, L_, at_pivots_;
  std::optional<KernelTiles<S>> tiles_;
  std::vector<typename KernelTiles<S>::Scratch> scratch_;
};

// Adds AᵀA of `rows` rows to the tile (i, j) of the sums, lower triangle.
template <class S>
void add_tile(const Matrix<S>& A, Index rows, Index i, Index j, Matrix<double>& sums, Matrix<S>& scratch) {
  const Index p = sums.rows(), ld = A.rows();
  const Index i0 = i * kTile, j0 = j * kTile, ni = std::min(kTile, p - i0), nj = std::min(kTile, p - j0);
  const auto product = [&](Index first, Index count, S beta, S* to, Index to_ld) {
    const S* const left = A.data() + i0 * ld + first;
    const S* const right = A.data() + j0 * ld + first;
    if (i == j) {
      blas::syrk_lower_of_columns<S>(ni, count, S(1), left, ld, beta, to, to_ld);
    } else {
      blas::gemm<S>(blas::Op::transpose, blas::Op::none, ni, nj, count, S(1), left, ld, right, ld, beta, to,
                    to_ld);
    }
  };
  if constexpr (std::is_same_v<S, double>) {
    product(0, rows, 1.0, sums.data() + j0 * p + i0, p);
  } else {
    for (Index first = 0; first < rows; first += kSingle) {
      scratch.setZero(ni, nj);
      product(first, std::min(kSingle, rows - first), S(0), scratch.data(), ni);
      sums.block(i0, j0, ni, nj) += scratch.template cast<double>();
    }
  }
}

}  // namespace

template <class S>
Matrix<double> row_sums(const Context& context, const Whitening& whitening, const KernelValues& kernel,
                        const Matrix<double>& T, const Matrix<double>& Y, const Vector<double>& weights) {
  check(whitening, kernel);
  const Index n = rows_of(kernel), r = whitening.rank(), l = T.cols(), k = Y.cols(), p = r + l + k;
  require(T.rows() == n && Y.rows() == n, "the kernel has ", n, " rows, the features ", T.rows(),
          ", the targets ", Y.rows());
  require(weights.size() == 0 || weights.size() == n, "got ", weights.size(), " sample weights for ", n,
          " samples");
  require(weights.size() == 0 || weights.minCoeff() >= 0, "sample weights must not be negative");
  const Vector<S> roots = weights.array().sqrt().matrix().template cast<S>();

  Matrix<double> sums = Matrix<double>::Zero(p, p);
  const Index strip = strip_rows(p), chunk = std::min(kStrips * strip, std::max<Index>(n, 1));
  Matrix<S> A(chunk, p);
  WhitenedRows<S> rows(context, whitening, kernel);
  std::vector<std::pair<Index, Index>> tiles;
  for (Index j = 0; j < ceil_div(p, kTile); ++j)
    for (Index i = j; i < ceil_div(p, kTile); ++i) tiles.emplace_back(i, j);
  std::vector<Matrix<S>> scratch(static_cast<std::size_t>(context.threads()));
  for (Index start = 0; start < n; start += chunk) {
    const Index count = std::min(chunk, n - start);
    rows.fill(start, count, strip, A.data(), chunk, [&](Index from, Index done) {
      A.block(from, r, done, l) = T.middleRows(start + from, done).template cast<S>();
      A.block(from, r + l, done, k) = Y.middleRows(start + from, done).template cast<S>();
      if (roots.size() > 0)
        A.middleRows(from, done).array().colwise() *= roots.segment(start + from, done).array();
    });
    const double work = static_cast<double>(count) * static_cast<double>(p) * static_cast<double>(p);
    parallel_for(context, static_cast<Index>(tiles.size()), workers_for(context, work),
                 [&](Index t, const Worker& worker) {
                   const auto [i, j] = tiles[static_cast<std::size_t>(t)];
                   add_tile(A, count, i, j, sums, scratch[static_cast<std::size_t>(worker.id())]);
                 });
  }
  sums.template triangularView<Eigen::StrictlyUpper>() = sums.transpose();
  return sums;
}

void whitened_rows(const Context& context, const Whitening& whitening, const KernelValues& kernel,
                   double* out) {
  check(whitening, kernel);
  const Index n = rows_of(kernel), r = whitening.rank();
  const Index strip = strip_rows(r), chunk = std::min(kStrips * strip, std::max<Index>(n, 1));
  Matrix<double> B(chunk, r);
  WhitenedRows<double> rows(context, whitening, kernel);
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<RowMajor> to(out, n, r);
  for (Index start = 0; start < n; start += chunk)
    rows.fill(start, std::min(chunk, n - start), strip, B.data(), chunk,
              [&](Index from, Index done) { to.middleRows(start + from, done) = B.middleRows(from, done); });
}

namespace {

// The finaliser of splitmix64: every bit of the input reaches every bit of the output.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

class RowKey {
 public:
  explicit RowKey(std::uint64_t seed) : key_(mix(seed + 0x9e3779b97f4a7c15ULL)) {}
  void add(Index column, double value) {
    if (value == 0) return;  // so that dense and sparse rows agree
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    key_ = mix(key_ ^ mix(bits + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(column + 1)));
  }
  std::uint64_t value() const { return key_; }

 private:
  std::uint64_t key_;
};

}  // namespace

std::vector<std::uint64_t> row_keys(const Context& context, const Rows& rows, std::uint64_t seed) {
  const Index n = row_count(rows);
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(n));
  std::visit(
      [&](const auto& r) {
        const double work = 10.0 * static_cast<double>(n) * static_cast<double>(r.d);
        parallel_for(context, ceil_div(n, kMostRows), workers_for(context, work),
                     [&](Index t, const Worker&) {
                       for (Index i = t * kMostRows; i < std::min(n, (t + 1) * kMostRows); ++i) {
                         RowKey key(seed);
                         if constexpr (std::is_same_v<std::decay_t<decltype(r)>, CsrRows>) {
                           for (std::int64_t e = r.starts[i]; e < r.starts[i + 1]; ++e)
                             key.add(r.columns[e], r.values[e]);
                         } else {
                           for (Index c = 0; c < r.d; ++c)
                             key.add(c, static_cast<double>(r.data[i * r.d + c]));
                         }
                         keys[static_cast<std::size_t>(i)] = key.value();
                       }
                     });
      },
      rows);
  return keys;
}

template <class S>
typename KernelStore<S>::Strip& KernelStore<S>::strip(Index block, Index number, Index rows, Index columns) {
  require(block >= 0 && number >= 0, "block ", block, " has no strip ", number);
  auto& strips = blocks_[block];
  if (static_cast<std::size_t>(number) < strips.size()) {
    Strip& known = strips[static_cast<std::size_t>(number)];
    require(known.rows == rows && known.columns == columns, "block ", block, " had strips of shape (",
            known.rows, ", ", known.columns, ") and has now (", rows, ", ", columns,
            "): its rows changed between passes");
    return known;
  }
  require(static_cast<std::size_t>(number) == strips.size(), "block ", block, " has changed its rows");
  Strip& fresh = strips.emplace_back();
  fresh.rows = rows;
  fresh.columns = columns;
  const double bytes = static_cast<double>(sizeof(S)) * static_cast<double>(rows * columns);
  if (bytes <= left_) {
    fresh.values.resize(static_cast<std::size_t>(rows * columns));
    left_ -= bytes;
  }
  return fresh;
}

namespace {

// t (n, k) += Z a, or s (M, k) = Zᵀt, for a strip Z (n, M) of another precision than the arithmetic's: some
// columns of it at a time are converted.
template <class A, class S, class Use>
void by_columns(const S* Z, Index n, Index M, Matrix<A>& buffer, const Use& use) {
  if constexpr (std::is_same_v<A, S>) {
    use(Index(0), M, Z);
  } else {
    for (Index j = 0; j < M; j += kTile) {
      const Index columns = std::min(kTile, M - j);
      buffer = Eigen::Map<const Matrix<S>>(Z + j * n, n, columns).template cast<A>();
      use(j, columns, buffer.data());
    }
  }
}

}  // namespace

template <class A, class S>
Matrix<double> normal_times(const Context& context, const Formula& formula, const Rows& rows,
                            const Rows& centres, const Vector<double>& weights, const Matrix<double>& a,
                            const Matrix<double>& B, KernelStore<S>& store, Index block) {
  const Index n = row_count(rows), M = row_count(centres), k = std::max(a.cols(), B.cols());
  require(a.cols() == 0 || a.rows() == M, "there are ", a.rows(), " coefficients for ", M, " centres");
  require(B.cols() == 0 || B.rows() == n, "there are ", B.rows(), " values to add to those of ", n, " rows");
  require(a.cols() == 0 || B.cols() == 0 || a.cols() == B.cols(), "there are ", a.cols(), " and ", B.cols(),
          " columns to add");
  require(weights.size() == 0 || weights.size() == n, "got ", weights.size(), " sample weights for ", n,
          " samples");
  const Matrix<A> coefficients = a.cast<A>();
  Matrix<double> sum = Matrix<double>::Zero(M, k);
  std::optional<KernelTiles<S>> kernel;
  struct Local {
    std::vector<S> Z;
    Matrix<A> t, converted;
    typename KernelTiles<S>::Scratch scratch;
  };
  std::vector<Local> locals(static_cast<std::size_t>(context.threads()));
  const Index size = std::clamp((Index(1) << 21) / std::max<Index>(M, 1), Index(64), kBlock);
  const Index chunk = size * kParts;
  std::vector<Matrix<A>> parts(static_cast<std::size_t>(kParts));
  for (Index start = 0; start < n; start += chunk) {
    const Index count = std::min(chunk, n - start), strips = ceil_div(count, size);
    const auto rows_of_strip = [&](Index s) { return std::min(size, count - s * size); };
    std::vector<typename KernelStore<S>::Strip*> kept;
    for (Index s = 0; s < strips; ++s)
      kept.push_back(&store.strip(block, start / size + s, rows_of_strip(s), M));
    double work = 4.0 * static_cast<double>(k);
    if (!std::all_of(kept.begin(), kept.end(), [](const auto* strip) { return strip->filled; })) {
      if (!kernel) kernel.emplace(context, formula, centres);
      kernel->set_rows(context, slice(rows, start, count));
      work += kernel->work();
    }
    work *= static_cast<double>(count) * static_cast<double>(M);
    parallel_for(context, strips, workers_for(context, work), [&](Index s, const Worker& worker) {
      Local& local = locals[static_cast<std::size_t>(worker.id())];
      auto& strip = *kept[static_cast<std::size_t>(s)];
      const Index from = s * size, here = rows_of_strip(s);
      if (strip.values.empty()) local.Z.resize(static_cast<std::size_t>(here * M));
      S* const Z = strip.values.empty() ? local.Z.data() : strip.values.data();
      if (!strip.filled) {
        kernel->evaluate(from, here, 0, M, Z, here, local.scratch, {context, worker});
        strip.filled = !strip.values.empty();
      }
      if (B.cols() > 0)
        local.t = B.middleRows(start + from, here).template cast<A>();
      else
        local.t = Matrix<A>::Zero(here, k);
      if (a.cols() > 0)
        by_columns(Z, here, M, local.converted, [&](Index j, Index columns, const A* values) {
          blas::gemm<A>(blas::Op::none, blas::Op::none, here, k, columns, A(1), values, here,
                        coefficients.data() + j, M, A(1), local.t.data(), here);
        });
      if (weights.size() > 0)
        local.t.array().colwise() *= weights.segment(start + from, here).template cast<A>().array();
      Matrix<A>& part = parts[static_cast<std::size_t>(s)];
      part.resize(M, k);
      by_columns(Z, here, M, local.converted, [&](Index j, Index columns, const A* values) {
        blas::gemm<A>(blas::Op::transpose, blas::Op::none, columns, k, here, A(1), values, here,
                      local.t.data(), here, A(0), part.data() + j, M);
      });
    });
    for (Index s = 0; s < strips; ++s) sum += parts[static_cast<std::size_t>(s)].template cast<double>();
  }
  return sum;
}

#define GRLS_INSTANTIATE(A, S)                                                                         \
  template Matrix<double> normal_times<A, S>(const Context&, const Formula&, const Rows&, const Rows&, \
                                             const Vector<double>&, const Matrix<double>&,             \
                                             const Matrix<double>&, KernelStore<S>&, Index);
GRLS_INSTANTIATE(double, double)
GRLS_INSTANTIATE(double, float)
GRLS_INSTANTIATE(float, float)
#undef GRLS_INSTANTIATE
template class KernelStore<double>;
template class KernelStore<float>;

namespace {

// Sums that a product with a symmetric kernel matrix of m rows is made of.
Index symmetric_parts(Index m) { return std::clamp<Index>(ceil_div(m, kSymmetricTile), 1, kParts); }

// Sums (k, m) += what a tile K (ni, nj) of a symmetric kernel matrix at (i0, j0) makes of the coefficients C
// (k, m), of its rows and, off the diagonal, of its columns. In pieces that libraries multiply without
// copying them first: of the few columns that there are, copies would cost more than the products.
template <class S>
void add_symmetric_tile(const Matrix<S>& C, const S* K, Index i0, Index ni, Index j0, Index nj,
                        Matrix<S>& sums) {
  const Index k = C.rows(), piece = k <= kFewColumns ? kSymmetricTile : kSymmetricPiece;
  const auto product = [&](blas::Op op, Index n, Index inner, const S* from, const S* tile, S* to) {
    for (Index p = 0; p < k; p += kMostColumns)
      blas::gemm<S>(blas::Op::none, op, std::min(kMostColumns, k - p), n, inner, S(1), from + p, k, tile, ni,
                    S(1), to + p, k);
  };
  for (Index j = 0; j < nj; j += piece)
    for (Index i = 0; i < ni; i += piece) {
      const Index pi = std::min(piece, ni - i), pj = std::min(piece, nj - j);
      const S* tile = K + j * ni + i;
      product(blas::Op::transpose, pi, pj, C.data() + (j0 + j) * k, tile, sums.data() + (i0 + i) * k);
      if (i0 != j0)
        product(blas::Op::none, pj, pi, C.data() + (i0 + i) * k, tile, sums.data() + (j0 + j) * k);
    }
}

}  // namespace

template <class S>
Matrix<S> symmetric_kernel_times(const Context& context, const Formula& formula, const Rows& rows,
                                 const Matrix<S>& c) {
  const Index m = row_count(rows), k = c.cols(), blocks = ceil_div(m, kSymmetricTile);
  require(c.rows() == m, "there are ", c.rows(), " coefficients for ", m, " rows");
  const KernelTiles<S> kernel(context, formula, rows);
  const Matrix<S> C = c.transpose();
  struct Local {
    std::vector<S> tile;
    typename KernelTiles<S>::Scratch scratch;
  };
  std::vector<Local> locals(static_cast<std::size_t>(context.threads()));
  // Block row i meets the block columns j <= i. Part s takes the block rows s, s + parts, … and adds both
  // what a tile says of its rows and what it says of its columns to a sum of its own: their order is fixed.
  const Index parts = symmetric_parts(m);
  std::vector<Matrix<S>> sums(static_cast<std::size_t>(parts));
  const double work =
      0.5 * static_cast<double>(m) * static_cast<double>(m) * (kernel.work() + 4.0 * static_cast<double>(k));
  parallel_for(context, parts, workers_for(context, work), [&](Index s, const Worker& worker) {
    Local& local = locals[static_cast<std::size_t>(worker.id())];
    local.tile.resize(static_cast<std::size_t>(kSymmetricTile * kSymmetricTile));
    Matrix<S>& sum = sums[static_cast<std::size_t>(s)];
    sum.setZero(k, m);
    for (Index i = s; i < blocks; i += parts)
      for (Index j = 0; j <= i; ++j) {
        const Index i0 = i * kSymmetricTile, ni = std::min(kSymmetricTile, m - i0);
        const Index j0 = j * kSymmetricTile, nj = std::min(kSymmetricTile, m - j0);
        kernel.evaluate(i0, ni, j0, nj, local.tile.data(), ni, local.scratch, {context, worker});
        add_symmetric_tile(C, local.tile.data(), i0, ni, j0, nj, sum);
        if (worker.stopped()) return;
        if (worker.id() == 0) context.poll();
      }
  });
  for (Index s = 1; s < parts; ++s) sums[0] += sums[static_cast<std::size_t>(s)];
  return sums[0].transpose();
}

#define GRLS_INSTANTIATE(S)                                                                                 \
  template Matrix<double> row_sums<S>(const Context&, const Whitening&, const KernelValues&,                \
                                      const Matrix<double>&, const Matrix<double>&, const Vector<double>&); \
  template Matrix<S> symmetric_kernel_times<S>(const Context&, const Formula&, const Rows&, const Matrix<S>&);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

double centres_bytes(Index M) {
  require_count(M, "centres");
  return 32 * static_cast<double>(M) * static_cast<double>(M);
}

double symmetric_sums_bytes(Index m, Index k) {
  return 8 * static_cast<double>(symmetric_parts(m)) * static_cast<double>(m) * static_cast<double>(k);
}

}  // namespace grls
