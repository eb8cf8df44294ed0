#include "nystrom/low_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/blas.hpp"
#include "base/errors.hpp"
#include "data/gather.hpp"
#include "kernels/predict.hpp"
#include "matrices/blocks.hpp"
#include "matrices/factor.hpp"

namespace grls {
namespace {

constexpr Index kStrip = 64;      // functions that a task takes
constexpr Index kGramTile = 256;  // of the inner products of functions: smaller ones read all rows too often
constexpr Index kDrawn = 128;     // samples of a block of draws
constexpr double kRepeated = 0.05;    // share of the block's mean diagonal below which a sample is dropped
constexpr double kExhausted = 1e-12;  // share of the diagonal at which nothing is left to draw
constexpr double kBelowZero = 1e-5;   // share of the diagonal that rounding may take below zero

// A number in (0, 1) from a key and the number of a draw.
double uniform(std::uint64_t key, std::uint64_t draw) {
  std::uint64_t x = key + 0x9e3779b97f4a7c15ULL * (draw + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return (static_cast<double>(x >> 11) + 0.5) * 0x1.0p-53;
}

// `count` samples without repetition in proportion to `left` (m): those with the smallest -log(u) / left. The
// draws depend on the rows and not on their order.
IndexList draw_samples(const Vector<double>& left, const std::vector<std::uint64_t>& keys, std::uint64_t draw,
                       Index count) {
  std::vector<std::pair<double, Index>> order;
  for (Index i = 0; i < left.size(); ++i)
    if (left[i] > 0)
      order.emplace_back(-std::log(uniform(keys[static_cast<std::size_t>(i)], draw)) / left[i], i);
  const auto wanted = std::min(static_cast<std::size_t>(count), order.size());
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::partial_sort(order.begin(), middle, order.end());
  IndexList out;
  for (std::size_t i = 0; i < wanted; ++i) out.push_back(order[i].second);
  return out;
}

// A randomly pivoted Cholesky factorisation, block by block.
class PivotedDraws {
 public:
  PivotedDraws(const Context& context, const KernelOfRows& kernel, const Vector<double>& roots, Index count)
      : context_(context),
        kernel_(kernel),
        roots_(roots),
        m_(row_count(kernel.rows)),
        count_(std::min(count, m_)),
        keys_(row_keys(context, kernel.rows, 0)),
        left_(kernel_diagonal<double>(context, kernel.formula, kernel.rows)),
        Bt_(count_, m_) {
    require(left_.allFinite(), "the kernel is not finite at some samples: scale the data down");
    if (roots.size() > 0) left_.array() *= roots.array().square();
    largest_ = m_ > 0 ? left_.cwiseAbs().maxCoeff() : 0;
    total_ = left_.sum();
  }

  void run() {
    for (std::uint64_t draw = 0; rank_ < count_ && left_.sum() > kExhausted * total_; ++draw) {
      const IndexList drawn = draw_samples(left_, keys_, draw, std::min(kDrawn, count_ - rank_));
      if (drawn.empty()) break;
      if (!add(drawn)) break;
      context_.poll();
    }
  }

  Index rank() const { return rank_; }
  Matrix<double>&& functions() { return std::move(Bt_); }

 private:
  double root(Index i) const { return roots_.size() > 0 ? roots_[i] : 1.0; }

  // B gains a function for each drawn sample that adds something; false where none does.
  bool add(const IndexList& drawn) {
    const auto n = static_cast<Index>(drawn.size());
    const GatheredRows rows(kernel_.rows, drawn);
    Matrix<double> L(n, n);
    kernel_matrix(context_, kernel_.formula, rows.view(), rows.view(), L.data());
    Matrix<double> known(rank_, n);
    for (Index j = 0; j < n; ++j) known.col(j) = Bt_.col(drawn[static_cast<std::size_t>(j)]).head(rank_);
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < n; ++i)
        L(i, j) *= root(drawn[static_cast<std::size_t>(i)]) * root(drawn[static_cast<std::size_t>(j)]);
    L.noalias() -= known.transpose() * known;
    IndexList order;
    const double least = std::max(kRepeated * L.diagonal().mean(), kExhausted * largest_);
    const Index kept = pivoted_llt(context_, L, least, order);
    if (kept == 0) return false;
    IndexList centres;
    Matrix<double> at_centres(rank_, kept);
    for (Index j = 0; j < kept; ++j) {
      const Index place = order[static_cast<std::size_t>(j)];
      centres.push_back(drawn[static_cast<std::size_t>(place)]);
      at_centres.col(j) = known.col(place);
    }
    const Matrix<double> factor = L.topLeftCorner(kept, kept);
    fill(centres, at_centres, factor);
    for (const Index i : centres) left_[i] = 0;
    rank_ += kept;
    return true;
  }

  // The functions of the centres at all samples: (k(x, z) - B B_zᵀ) L⁻ᵀ, and what they leave.
  void fill(const IndexList& centres, const Matrix<double>& at_centres, const Matrix<double>& L) {
    const auto n = static_cast<Index>(centres.size());
    const GatheredRows gathered(kernel_.rows, centres);
    KernelTiles<double> tiles(context_, kernel_.formula, gathered.view());
    tiles.set_rows(context_, kernel_.rows);
    std::vector<typename KernelTiles<double>::Scratch> scratch(static_cast<std::size_t>(context_.threads()));
    const double work = static_cast<double>(m_) * static_cast<double>(n) *
                        (tiles.work() + 2.0 * static_cast<double>(rank_ + n));
    parallel_for(context_, (m_ + kBlockRows - 1) / kBlockRows, workers_for(context_, work),
                 [&](Index t, const Worker& worker) {
                   const Index first = t * kBlockRows, rows = std::min(kBlockRows, m_ - first);
                   Matrix<double> G(rows, n);
                   tiles.evaluate(first, rows, 0, n, G.data(), rows,
                                  scratch[static_cast<std::size_t>(worker.id())], {context_, worker});
                   if (roots_.size() > 0) {
                     G.array().colwise() *= roots_.segment(first, rows).array();
                     for (Index j = 0; j < n; ++j) G.col(j) *= root(centres[static_cast<std::size_t>(j)]);
                   }
                   if (rank_ > 0)
                     blas::gemm(blas::Op::transpose, blas::Op::none, rows, n, rank_, -1.0,
                                Bt_.data() + first * count_, count_, at_centres.data(), rank_, 1.0, G.data(),
                                rows);
                   blas::trsm_right_lower_transposed(rows, n, L.data(), n, G.data(), rows);
                   left_.segment(first, rows) -= G.rowwise().squaredNorm();
                   Bt_.block(rank_, first, n, rows) = G.transpose();
                 });
    if (!(left_.minCoeff() >= -kBelowZero * largest_ * static_cast<double>(rank_ + n)))
      throw NotPositiveDefinite("the kernel is not positive definite at the samples");
    left_ = left_.cwiseMax(0.0);
  }

  const Context& context_;
  const KernelOfRows& kernel_;
  const Vector<double>& roots_;
  Index m_, count_, rank_ = 0;
  std::vector<std::uint64_t> keys_;
  Vector<double> left_;  // (m) the diagonal of Φ - BBᵀ
  double largest_ = 0, total_ = 0;
  Matrix<double> Bt_;  // (count, m), the first `rank` rows made
};

}  // namespace

LowRank LowRank::pivoted(const Context& context, const KernelOfRows& kernel, const Vector<double>& roots,
                         Index count) {
  PivotedDraws draws(context, kernel, roots, count);
  draws.run();
  LowRank out;
  out.rank_ = draws.rank();
  out.Bt_ = draws.functions();
  return out;
}

LowRank::LowRank(const Context& context, Matrix<double> Bt, const Vector<double>& roots)
    : Bt_(std::move(Bt)), rank_(Bt_.rows()) {
  if (roots.size() == 0) return;
  require(roots.size() == Bt_.cols(), "got ", roots.size(), " weights for ", Bt_.cols(), " samples");
  for_rows(context, Bt_.cols(), size_of(Bt_), [&](Index first, Index count) {
    Bt_.middleCols(first, count).array().rowwise() *= roots.segment(first, count).transpose().array();
  });
}

void LowRank::project(const Context& context, const Matrix<double>& Q, const GroupMeans& groups) {
  const Index r = rank_, m = Bt_.cols(), l = Q.cols(), ld = Bt_.rows();
  if (r == 0) return;
  if (groups.groups() > 0) groups.take_off_transposed(context, r, Bt_);
  if (l > 0) {
    const Matrix<double> BQ = coordinates(context, Q);
    for_rows(context, m, 2.0 * size_of(Bt_) * static_cast<double>(l), [&](Index first, Index count) {
      blas::gemm(blas::Op::none, blas::Op::transpose, r, count, l, -1.0, BQ.data(), r, Q.data() + first, m,
                 1.0, Bt_.data() + first * ld, ld);
    });
  }
  gram_.setZero(r, r);
  const Index strips = (r + kGramTile - 1) / kGramTile;
  std::vector<std::pair<Index, Index>> tiles;
  for (Index j = 0; j < strips; ++j)
    for (Index i = j; i < strips; ++i) tiles.emplace_back(i * kGramTile, j * kGramTile);
  const double work = static_cast<double>(r) * static_cast<double>(r) * static_cast<double>(m);
  parallel_for(context, static_cast<Index>(tiles.size()), workers_for(context, work),
               [&](Index t, const Worker&) {
                 const auto [i, j] = tiles[static_cast<std::size_t>(t)];
                 blas::gemm(blas::Op::none, blas::Op::transpose, std::min(kGramTile, r - i),
                            std::min(kGramTile, r - j), m, 1.0, Bt_.data() + i, ld, Bt_.data() + j, ld, 0.0,
                            gram_.data() + j * r + i, r);
               });
}

Matrix<double> LowRank::coordinates(const Context& context, const Matrix<double>& R) const {
  const Index r = rank_, m = Bt_.cols(), k = R.cols();
  require(r == 0 || R.rows() == m, "there are ", R.rows(), " rows for ", m, " samples");
  Matrix<double> seen(r, k);
  parallel_for(context, (r + kStrip - 1) / kStrip,
               workers_for(context, 2.0 * size_of(Bt_) * static_cast<double>(k)),
               [&](Index t, const Worker&) {
                 const Index first = t * kStrip, count = std::min(kStrip, r - first);
                 blas::gemm(blas::Op::none, blas::Op::none, count, k, m, 1.0, Bt_.data() + first, Bt_.rows(),
                            R.data(), m, 0.0, seen.data() + first, r);
               });
  return seen;
}

void LowRank::add_product(const Context& context, double a, const Matrix<double>& X,
                          Matrix<double>& R) const {
  const Index m = R.rows(), k = R.cols(), ld = Bt_.rows();
  for_rows(context, m, 2.0 * size_of(Bt_) * static_cast<double>(k), [&](Index first, Index count) {
    blas::gemm(blas::Op::transpose, blas::Op::none, count, k, rank_, a, Bt_.data() + first * ld, ld, X.data(),
               rank_, 1.0, R.data() + first, m);
  });
}

void LowRank::rotate(const Context& context, const Matrix<double>& U, const Vector<double>& eigenvalues) {
  const Index r = rank_, ld = Bt_.rows();
  require(U.rows() == r && U.cols() == r && eigenvalues.size() == r, "got ", eigenvalues.size(),
          " eigenvalues and vectors of shape (", U.rows(), ", ", U.cols(), ") for ", r, " functions");
  require(gram_.rows() == r, "the functions were rotated before");
  for_rows(context, Bt_.cols(), 2.0 * size_of(Bt_) * static_cast<double>(r), [&](Index first, Index count) {
    const Matrix<double> old = Bt_.block(0, first, r, count);
    blas::gemm(blas::Op::transpose, blas::Op::none, r, count, r, 1.0, U.data(), r, old.data(), r, 0.0,
               Bt_.data() + first * ld, ld);
  });
  eigenvalues_ = eigenvalues.cwiseMax(0.0);
  gram_.resize(0, 0);
}

LowRank::Inverse::Inverse(const Context& context, const LowRank& functions, double shift)
    : functions_(functions), shift_(shift) {
  const Index r = functions.rank_;
  if (r == 0 || functions.eigenvalues_.size() == r) return;
  factor_ = std::make_unique<BlockTriangle<double>>(r, r);
  for_tiles(context, *factor_, 0, r, 1.0, [&](const auto& t, const Worker&) {
    for (Index j = 0; j < t.columns; ++j)
      for (Index i = t.first; i < t.last; ++i) {
        const Index c = t.column + j;
        factor_->at(t)[j * factor_->ld(t.j) + i - t.first] = functions.gram_(std::max(i, c), std::min(i, c));
      }
  });
  shift_diagonal(shift, r, *factor_);
  partial_llt(context, *factor_);
}

void LowRank::Inverse::operator()(const Context& context, Matrix<double>& R) const {
  if (functions_.rank_ > 0) {
    Matrix<double> seen = functions_.coordinates(context, R);
    if (factor_) {
      solve_forward(context, *factor_, seen);
      solve_transposed(context, *factor_, seen);
    } else {
      seen = (functions_.eigenvalues_.array() + shift_).inverse().matrix().asDiagonal() * seen;
    }
    functions_.add_product(context, -1.0, seen, R);
  }
  R /= shift_;
}

}  // namespace grls
