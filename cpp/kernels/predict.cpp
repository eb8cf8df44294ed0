#include "kernels/predict.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace grls {
namespace {

constexpr Index kRows = 512, kColumns = 256;  // a tile of 1 MiB in double precision per thread
constexpr Index kSplit = 8;                   // enough tasks for the threads of a small machine

double total_work(Index rows, Index columns, double per_value) {
  return static_cast<double>(rows) * static_cast<double>(columns) * per_value;
}

// Rows at a time, so that their prepared copy takes at most 32 MiB.
Index block_rows(Index d) { return std::max<Index>(kRows * 16, (Index(1) << 22) / std::max<Index>(d, 1)); }

}  // namespace

template <class S>
Matrix<S> kernel_times(const Context& context, const Formula& formula, const Rows& rows, const Rows& points,
                       const Matrix<S>& c) {
  const Index q = row_count(rows), m = row_count(points), k = c.cols();
  require(c.rows() == m, "there are ", c.rows(), " kernel coefficients for ", m, " training points");
  Matrix<S> out = Matrix<S>::Zero(q, k);
  struct Local {
    std::vector<S> tile;
    typename KernelTiles<S>::Scratch scratch;
  };
  std::vector<Local> locals(static_cast<std::size_t>(context.threads()));
  KernelTiles<S> kernel(context, formula, points, q);
  const Index block = block_rows(column_count(rows));
  for (Index start = 0; start < q; start += block) {
    const Index count = std::min(block, q - start), tiles = (count + kRows - 1) / kRows;
    kernel.set_rows(context, slice(rows, start, count));
    // Few rows leave threads idle: the points are then split too. In how many parts does not depend on the
    // threads, and the parts are added up in order, so the answer does not either.
    const Index parts = tiles >= kSplit ? 1 : std::min(kSplit, (m + 4 * kColumns - 1) / (4 * kColumns));
    const Index share = (m + std::max<Index>(parts, 1) - 1) / std::max<Index>(parts, 1);
    std::vector<Matrix<S>> sums(static_cast<std::size_t>(parts), Matrix<S>::Zero(count, k));
    const int workers =
        workers_for(context, total_work(count, m, kernel.work() + 2.0 * static_cast<double>(k)));
    parallel_for(context, tiles * parts, workers, [&](Index t, const Worker& worker) {
      Local& local = locals[static_cast<std::size_t>(worker.id())];
      const Index first = (t % tiles) * kRows, n = std::min(kRows, count - first), part = t / tiles;
      local.tile.resize(static_cast<std::size_t>(n * std::min(kColumns, m)));
      for (Index j = part * share; j < std::min(m, (part + 1) * share); j += kColumns) {
        const Index columns = std::min(kColumns, std::min(m, (part + 1) * share) - j);
        kernel.evaluate(first, n, j, columns, local.tile.data(), n, local.scratch, {context, worker});
        blas::gemm<S>(blas::Op::none, blas::Op::none, n, k, columns, S(1), local.tile.data(), n, c.data() + j,
                      m, S(1), sums[static_cast<std::size_t>(part)].data() + first, count);
        if (worker.stopped()) return;
        if (worker.id() == 0) context.poll();
      }
    });
    for (const Matrix<S>& sum : sums) out.middleRows(start, count) += sum;
  }
  return out;
}

template <class S>
void kernel_matrix(const Context& context, const Formula& formula, const Rows& rows, const Rows& points,
                   S* out) {
  const Index q = row_count(rows), m = row_count(points);
  KernelTiles<S> kernel(context, formula, rows);  // transposed: column-major (m, q) is row-major (q, m)
  kernel.set_rows(context, points);
  std::vector<typename KernelTiles<S>::Scratch> scratch(static_cast<std::size_t>(context.threads()));
  parallel_for(context, (q + kColumns - 1) / kColumns, workers_for(context, total_work(m, q, kernel.work())),
               [&](Index t, const Worker& worker) {
                 const Index first = t * kColumns;
                 kernel.evaluate(0, m, first, std::min(kColumns, q - first), out + first * m, m,
                                 scratch[static_cast<std::size_t>(worker.id())], {context, worker});
               });
}

#define GRLS_INSTANTIATE(S)                                                                    \
  template Matrix<S> kernel_times<S>(const Context&, const Formula&, const Rows&, const Rows&, \
                                     const Matrix<S>&);                                        \
  template void kernel_matrix<S>(const Context&, const Formula&, const Rows&, const Rows&, S*);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls
