#include "check.hpp"

#include "base/errors.hpp"
#include "common.hpp"
#include "kernels/predict.hpp"
#include "matrices/assemble.hpp"
#include "matrices/factor.hpp"

namespace grls::bench {
namespace {

constexpr Index kPoints = 300, kColumns = 20, kRows = 40;

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

RowMajor points(Index n, unsigned seed) {
  const std::vector<double> values = random_rows(n, kColumns, seed);
  return Eigen::Map<const RowMajor>(values.data(), n, kColumns);
}

DenseRows<double> view(const RowMajor& X) { return {X.data(), X.rows(), X.cols()}; }

Matrix<double> kernel_by_definition(const RowMajor& X, const RowMajor& Z) {
  Matrix<double> K(X.rows(), Z.rows());
  for (Index i = 0; i < X.rows(); ++i)
    for (Index j = 0; j < Z.rows(); ++j)
      K(i, j) = std::exp(-(X.row(i) - Z.row(j)).squaredNorm() / (2.0 * kColumns));
  return K;
}

void require_close(const Matrix<double>& got, const Matrix<double>& expected, const char* stage) {
  const double apart = (got - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff();
  require(apart < 1e-10, stage, " differs from its definition by ", apart);
}

}  // namespace

void check_answers() {
  const Context context(threads());
  const Formula formula = gaussian(kColumns);
  const RowMajor X = points(kPoints, 0), Z = points(kRows, 1);
  Matrix<double> K = kernel_by_definition(X, X);

  BlockTriangle<double> A(kPoints, kPoints);
  fill_gram<double>(context, KernelTiles<double>(context, formula, view(X)), Vector<double>(), A);
  require_close(to_dense(A, kPoints), K, "fill_gram");

  const Basis basis = orthonormal_basis(random_matrix(kPoints, kFeatures), 1e-10);
  apply_basis(context, basis, A);
  K = basis.transposed_times(Matrix<double>(basis.transposed_times(K).transpose()));
  require_close(to_dense(A, kPoints), K, "apply_basis");

  shift_diagonal(1.0, kPoints, A);
  K.diagonal().array() += 1.0;
  partial_llt(context, A);
  const Matrix<double> L = to_dense(A, kPoints).triangularView<Eigen::Lower>();
  require_close(L * L.transpose(), K, "partial_llt");

  const Matrix<double> c = random_matrix(kPoints, 1);
  require_close(kernel_times<double>(context, formula, view(Z), view(X), c), kernel_by_definition(Z, X) * c,
                "kernel_times");
}

}  // namespace grls::bench
