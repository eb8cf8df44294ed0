#include "predict.hpp"

#include <algorithm>

#include "errors.hpp"

namespace grls {
namespace {

constexpr Index kRows = 256, kColumns = 512;  // a tile of 1 MiB in double precision per thread

double total_work(Index rows, Index columns, double per_value) {
  return static_cast<double>(rows) * static_cast<double>(columns) * per_value;
}

}  // namespace

template <class S>
Matrix<S> kernel_times(const Context& context, const KernelTiles<S>& kernel, const Matrix<S>& c) {
  const Index q = kernel.rows(), m = kernel.columns(), k = c.cols();
  require(c.rows() == m, "there are ", c.rows(), " kernel coefficients for ", m, " training points");
  Matrix<S> out(q, k);
  struct Local {
    std::vector<S> tile;
    typename KernelTiles<S>::Scratch scratch;
  };
  std::vector<Local> locals(static_cast<std::size_t>(context.threads()));
  const int workers = workers_for(context, total_work(q, m, kernel.work() + 2.0 * static_cast<double>(k)));
  parallel_for(context, (q + kRows - 1) / kRows, workers, [&](Index t, const Worker& worker) {
    Local& local = locals[static_cast<std::size_t>(worker.id())];
    const Index first = t * kRows, rows = std::min(kRows, q - first);
    local.tile.resize(static_cast<std::size_t>(rows * std::min(kColumns, m)));
    for (Index j = 0; j < m; j += kColumns) {
      const Index columns = std::min(kColumns, m - j);
      kernel.evaluate(first, rows, j, columns, local.tile.data(), rows, local.scratch);
      blas::gemm<S>(blas::Op::none, blas::Op::none, rows, k, columns, S(1), local.tile.data(), rows,
                    c.data() + j, m, S(j > 0), out.data() + first, q);
      if (worker.stopped()) return;
      if (worker.id() == 0) context.poll();
    }
  });
  return out;
}

template <class S>
void kernel_matrix(const Context& context, const KernelTiles<S>& transposed, S* out) {
  // Column-major (m, q) is row-major (q, m).
  const Index m = transposed.rows(), q = transposed.columns();
  std::vector<typename KernelTiles<S>::Scratch> scratch(static_cast<std::size_t>(context.threads()));
  parallel_for(context, (q + kColumns - 1) / kColumns,
               workers_for(context, total_work(m, q, transposed.work())), [&](Index t, const Worker& worker) {
                 const Index first = t * kColumns;
                 transposed.evaluate(0, m, first, std::min(kColumns, q - first), out + first * m, m,
                                     scratch[static_cast<std::size_t>(worker.id())]);
               });
}

#define GRLS_INSTANTIATE(S)                                                                    \
  template Matrix<S> kernel_times<S>(const Context&, const KernelTiles<S>&, const Matrix<S>&); \
  template void kernel_matrix<S>(const Context&, const KernelTiles<S>&, S*);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls
