#include "matrices/factor.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/blas.hpp"
#include "base/errors.hpp"

namespace grls {
namespace {

// Right-looking over block columns; a tile is one block column within one band of rows.
struct LltTask {
  enum Kind : std::int32_t { factor, solve, update } kind;
  std::int32_t k;  // the panel
  std::int32_t j;  // the block column that is updated
  std::int32_t g;  // the band
};

template <class S>
class PartialLlt {
 public:
  explicit PartialLlt(BlockTriangle<S>& A)
      : A_(A), bands_(A.bands()), progress_(static_cast<std::size_t>(A.block_columns() * bands_)) {
    for (auto& p : progress_) p.store(0, std::memory_order_relaxed);
    for (Index k = 0; k < A.pivot_block_columns(); ++k)
      for (Index q = 0; q < A.width(k); ++q) diagonal_.push_back(A.at(A.start(k), k)[q * A.ld(k) + q]);
    schedule();
  }

  void run(const Context& context) {
    const double n = static_cast<double>(A_.pivots());
    parallel_for(
        context, static_cast<Index>(tasks_.size()), workers_for(context, n * n * n / 10),
        [this](Index t, const Worker& worker) { perform(tasks_[static_cast<std::size_t>(t)], worker); });
  }

 private:
  // Every task comes after those it waits for. The next panel is factorised while the updates with the
  // current one still run.
  void schedule() {
    const Index panels = A_.pivot_block_columns(), columns = A_.block_columns();
    const auto push = [this](LltTask::Kind kind, Index k, Index j, Index g) {
      tasks_.push_back(
          {kind, static_cast<std::int32_t>(k), static_cast<std::int32_t>(j), static_cast<std::int32_t>(g)});
    };
    const auto panel = [&](Index k) {
      const Index top = A_.band_of(A_.start(k));
      push(LltTask::factor, k, k, top);
      for (Index g = top + 1; g < bands_; ++g) push(LltTask::solve, k, k, g);
    };
    if (panels > 0) panel(0);
    for (Index k = 0; k < panels; ++k) {
      for (Index j = k + 1; j < columns; ++j) {
        for (Index g = A_.band_of(A_.start(j)); g < bands_; ++g) push(LltTask::update, k, j, g);
        if (j == std::min(k + 2, columns - 1) && k + 1 < panels) panel(k + 1);
      }
    }
  }

  // Updates a tile has had; one more once it is part of a finished panel.
  std::atomic<std::int32_t>& progress(Index j, Index g) {
    return progress_[static_cast<std::size_t>(j * bands_ + g)];
  }
  bool reached(Index j, Index g, Index value) {
    return progress(j, g).load(std::memory_order_acquire) >= value;
  }

  // The bands that hold the rows of block column j's own diagonal block.
  Index last_diagonal_band(Index j) const { return A_.band_of(A_.start(j) + A_.width(j) - 1); }

  void perform(const LltTask& t, const Worker& worker) {
    const Index k = t.k, j = t.j, g = t.g;
    const Index first = A_.first_row(j, g), last = A_.last_row(g);
    switch (t.kind) {
      case LltTask::factor:
        if (!worker.wait_until([&] { return reached(k, g, k); })) return;
        factor_diagonal(k);
        solve_rows(k, A_.start(k) + A_.width(k), last);
        break;
      case LltTask::solve:
        if (!worker.wait_until(
                [&] { return reached(k, g, k) && reached(k, A_.band_of(A_.start(k)), k + 1); }))
          return;
        solve_rows(k, first, last);
        break;
      case LltTask::update:
        if (!worker.wait_until([&] {
              if (!reached(j, g, k) || !reached(k, g, k + 1)) return false;
              for (Index b = A_.band_of(A_.start(j)); b <= last_diagonal_band(j); ++b)
                if (!reached(k, b, k + 1)) return false;
              return true;
            }))
          return;
        update_rows(k, j, first, last);
        break;
    }
    progress(j, g).fetch_add(1, std::memory_order_release);
  }

  void factor_diagonal(Index k) {
    S* const block = A_.at(A_.start(k), k);
    bool definite = blas::potrf_lower<S>(A_.width(k), block, A_.ld(k));
    // A pivot that is nothing but rounding error, of what the element of the diagonal was, tells a singular
    // matrix from a regular one. Rows and columns may be of very different sizes, as weights make them.
    for (Index q = 0; q < A_.width(k) && definite; ++q) {
      const S pivot = block[q * A_.ld(k) + q];
      const S before = diagonal_[static_cast<std::size_t>(A_.start(k) + q)];
      definite = pivot * pivot > 4 * std::numeric_limits<S>::epsilon() * before;
    }
    if (!definite) throw NotPositiveDefinite("a pivot of its factorisation is zero or negative");
  }

  void solve_rows(Index k, Index first, Index last) {
    if (first < last)
      blas::trsm_right_lower_transposed<S>(last - first, A_.width(k), A_.at(A_.start(k), k), A_.ld(k),
                                           A_.at(first, k), A_.ld(k));
  }

  // A[first:last, j] -= L[first:last, k] L[j, k]ᵀ
  void update_rows(Index k, Index j, Index first, Index last) {
    const Index top = A_.start(j), width = A_.width(j), diagonal_end = std::min(top + width, last);
    if (first == top && diagonal_end == top + width) {
      blas::syrk_lower<S>(width, A_.width(k), S(-1), A_.at(top, k), A_.ld(k), S(1), A_.at(top, j), A_.ld(j));
      first = diagonal_end;
    }
    if (first < last)
      blas::gemm<S>(blas::Op::none, blas::Op::transpose, last - first, width, A_.width(k), S(-1),
                    A_.at(first, k), A_.ld(k), A_.at(top, k), A_.ld(k), S(1), A_.at(first, j), A_.ld(j));
  }

  BlockTriangle<S>& A_;
  Index bands_;
  std::vector<std::atomic<std::int32_t>> progress_;
  std::vector<LltTask> tasks_;
  std::vector<S> diagonal_;  // as it was before
};

}  // namespace

template <class S>
void partial_llt(const Context& context, BlockTriangle<S>& A) {
  PartialLlt<S>(A).run(context);
}

namespace {

// Rows a task takes of the part below a diagonal block, and how many tasks that makes.
constexpr Index kSolveRows = 1024;
Index strips(Index rows) { return (rows + kSolveRows - 1) / kSolveRows; }

// Of so few columns a matrix product would spend its time copying L.
constexpr Index kFewColumns = 4;

// X (n, k) = L⁻¹ X, L (n, n) the lower triangle of a block
template <class S>
void solve_block(Index n, Index k, const S* L, Index ldl, S* X, Index ldx) {
  if (k > kFewColumns) return blas::trsm_left_lower<S>(blas::Op::none, n, k, L, ldl, X, ldx);
  const Eigen::Map<const Matrix<S>, 0, Eigen::OuterStride<>> block(L, n, n, Eigen::OuterStride<>(ldl));
  for (Index p = 0; p < k; ++p) {
    Eigen::Map<Vector<S>> x(X + p * ldx, n);
    block.template triangularView<Eigen::Lower>().solveInPlace(x);
  }
}

// Y (rows, k) -= L X, L (rows, n), X (n, k)
template <class S>
void subtract_product(Index rows, Index k, Index n, const S* L, Index ldl, const S* X, S* Y, Index ld) {
  if (k > kFewColumns)
    return blas::gemm<S>(blas::Op::none, blas::Op::none, rows, k, n, S(-1), L, ldl, X, ld, S(1), Y, ld);
  const Eigen::Map<const Matrix<S>, 0, Eigen::OuterStride<>> block(L, rows, n, Eigen::OuterStride<>(ldl));
  for (Index p = 0; p < k; ++p)
    Eigen::Map<Vector<S>>(Y + p * ld, rows).noalias() -= block * Eigen::Map<const Vector<S>>(X + p * ld, n);
}

// Few right-hand sides make these solves a matter of reading L once, which one thread nearly does as fast as
// the memory allows: others pay where the blocks are large.
int solve_workers(const Context& context, Index rows, Index width, Index k) {
  const double work = static_cast<double>(rows) * static_cast<double>(width);
  return workers_for(context, k > kFewColumns ? work : work / 8);
}

}  // namespace

template <class S>
void solve_forward(const Context& context, const BlockTriangle<S>& L, Matrix<S>& X) {
  const Index n = X.rows(), k = X.cols();
  for (Index j = 0; j < L.pivot_block_columns(); ++j) {
    const Index top = L.start(j), width = L.width(j), below = top + width;
    solve_block(width, k, L.at(top, j), L.ld(j), X.data() + top, n);
    parallel_for(
        context, strips(n - below), solve_workers(context, n - below, width, k), [&](Index t, const Worker&) {
          const Index first = below + t * kSolveRows, rows = std::min(kSolveRows, n - first);
          subtract_product(rows, k, width, L.at(first, j), L.ld(j), X.data() + top, X.data() + first, n);
        });
  }
}

template <class S>
bool solve_forward(const Context& context, const Worker& worker, const BlockTriangle<S>& L, Index rows, S* X,
                   Index k, Index ld) {
  for (Index j = 0; j < L.pivot_block_columns(); ++j) {
    const Index top = L.start(j), width = L.width(j), below = top + width;
    solve_block(width, k, L.at(top, j), L.ld(j), X + top, ld);
    if (below < rows)
      subtract_product(rows - below, k, width, L.at(below, j), L.ld(j), X + top, X + below, ld);
    if (worker.stopped()) return false;
    if (worker.id() == 0) context.poll();
  }
  return true;
}

template <class S>
void solve_transposed(const Context& context, const BlockTriangle<S>& L, Matrix<S>& X) {
  const Index n = L.pivots(), k = X.cols();
  for (Index j = L.pivot_block_columns() - 1; j >= 0; --j) {
    const Index top = L.start(j), width = L.width(j), below = top + width;
    std::vector<Matrix<S>> sums(static_cast<std::size_t>(strips(n - below)), Matrix<S>(width, k));
    parallel_for(
        context, strips(n - below), solve_workers(context, n - below, width, k), [&](Index t, const Worker&) {
          const Index first = below + t * kSolveRows, rows = std::min(kSolveRows, n - first);
          blas::gemm<S>(blas::Op::transpose, blas::Op::none, width, k, rows, S(1), L.at(first, j), L.ld(j),
                        X.data() + first, n, S(0), sums[static_cast<std::size_t>(t)].data(), width);
        });
    for (const Matrix<S>& sum : sums) X.middleRows(top, width) -= sum;  // in order, whatever the threads
    blas::trsm_left_lower<S>(blas::Op::transpose, width, k, L.at(top, j), L.ld(j), X.data() + top, n);
  }
}

template <class S>
void invert(const Context& context, BlockTriangle<S>& L) {
  const Index n = L.pivots(), blocks = L.pivot_block_columns();
  const double work = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / 10;
  // W = L⁻¹, one block column a task: forward substitution of the identity, below the diagonal only.
  BlockTriangle<S> W(L.order(), n);
  parallel_for(context, blocks, workers_for(context, work), [&](Index j, const Worker& worker) {
    const Index width = W.width(j), ld = W.ld(j);
    for (Index q = 0; q < width; ++q) {
      std::fill_n(W.at(W.start(j), j) + q * ld, n - W.start(j), S(0));
      W.at(W.start(j), j)[q * ld + q] = S(1);
    }
    for (Index i = j; i < blocks && !worker.stopped(); ++i) {
      const Index top = L.start(i), rows = L.width(i), below = top + rows;
      blas::trsm_left_lower<S>(blas::Op::none, rows, width, L.at(top, i), L.ld(i), W.at(top, j), ld);
      if (below < n)
        blas::gemm<S>(blas::Op::none, blas::Op::none, n - below, width, rows, S(-1), L.at(below, i), L.ld(i),
                      W.at(top, j), ld, S(1), W.at(below, j), ld);
      if (worker.id() == 0) context.poll();
    }
  });
  // WᵀW: the rows above a block column's start are zero.
  std::vector<std::pair<Index, Index>> pairs;
  for (Index j = 0; j < blocks; ++j)
    for (Index i = j; i < blocks; ++i) pairs.emplace_back(i, j);
  parallel_for(context, static_cast<Index>(pairs.size()), workers_for(context, work),
               [&](Index t, const Worker&) {
                 const auto [i, j] = pairs[static_cast<std::size_t>(t)];
                 const Index top = W.start(i);
                 blas::gemm<S>(blas::Op::transpose, blas::Op::none, W.width(i), W.width(j), n - top, S(1),
                               W.at(top, i), W.ld(i), W.at(top, j), W.ld(j), S(0), L.at(top, j), L.ld(j));
               });
}

#define GRLS_INSTANTIATE(S)                                                                                \
  template void partial_llt<S>(const Context&, BlockTriangle<S>&);                                         \
  template void invert<S>(const Context&, BlockTriangle<S>&);                                              \
  template void solve_forward<S>(const Context&, const BlockTriangle<S>&, Matrix<S>&);                     \
  template bool solve_forward<S>(const Context&, const Worker&, const BlockTriangle<S>&, Index, S*, Index, \
                                 Index);                                                                   \
  template void solve_transposed<S>(const Context&, const BlockTriangle<S>&, Matrix<S>&);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

Index pivoted_llt(const Context& context, Matrix<double>& A, double tolerance, IndexList& pivots) {
  constexpr Index kPanel = 64, kTile = 256;
  const Index n = A.rows();
  require(A.cols() == n, "a symmetric matrix must be square");
  pivots.resize(static_cast<std::size_t>(n));
  std::iota(pivots.begin(), pivots.end(), Index(0));
  Vector<double> left = A.diagonal();  // of what is not factorised yet
  for (Index k = 0; k < n; k += kPanel) {
    const Index end = std::min(k + kPanel, n);
    for (Index j = k; j < end; ++j) {
      Index best = 0;
      if (!(left.tail(n - j).maxCoeff(&best) > tolerance)) return j;
      best += j;
      if (best != j) {  // rows and columns j and best change places in the lower triangle
        A.row(j).head(j).swap(A.row(best).head(j));
        const Index between = best - j - 1, below = n - best - 1;
        A.col(j).segment(j + 1, between).swap(A.row(best).segment(j + 1, between).transpose());
        A.col(j).tail(below).swap(A.col(best).tail(below));
        std::swap(A(j, j), A(best, best));
        std::swap(left[j], left[best]);
        std::swap(pivots[static_cast<std::size_t>(j)], pivots[static_cast<std::size_t>(best)]);
      }
      auto column = A.col(j).tail(n - j - 1);
      column.noalias() -= A.block(j + 1, k, n - j - 1, j - k) * A.row(j).segment(k, j - k).transpose();
      const double root = std::sqrt(left[j]);
      A(j, j) = root;
      column /= root;
      left.tail(n - j - 1) -= column.cwiseAbs2();
    }
    const Index rest = n - end, strips = (rest + kTile - 1) / kTile;
    const double work = static_cast<double>(rest) * static_cast<double>(rest) * kPanel;
    parallel_for(context, strips * strips, workers_for(context, work), [&](Index t, const Worker&) {
      const Index i0 = end + (t / strips) * kTile, j0 = end + (t % strips) * kTile;
      if (i0 < j0) return;
      blas::gemm(blas::Op::none, blas::Op::transpose, std::min(kTile, n - i0), std::min(kTile, n - j0),
                 end - k, -1.0, A.data() + k * n + i0, n, A.data() + k * n + j0, n, 1.0,
                 A.data() + j0 * n + i0, n);
    });
    context.poll();
  }
  return n;
}

}  // namespace grls
