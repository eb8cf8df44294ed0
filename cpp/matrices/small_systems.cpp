#include "matrices/small_systems.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>

#include "base/blas.hpp"

namespace grls {

Matrix<double> solved(const Matrix<double>& A, const Matrix<double>& B) { return A.partialPivLu().solve(B); }

Matrix<double> inverse_of(const Matrix<double>& A) {
  return solved(A, Matrix<double>::Identity(A.rows(), A.cols()));
}

Vector<double> symmetric_solution(const Matrix<double>& A, const Vector<double>& b) {
  return A.ldlt().solve(b);
}

Vector<double> shortest_solution(const Matrix<double>& A, const Vector<double>& b) {
  return A.completeOrthogonalDecomposition().solve(b);
}

PivotColumns pivot_columns(const Matrix<double>& A) {
  const Eigen::ColPivHouseholderQR<Matrix<double>> qr(A);
  const auto& order = qr.colsPermutation().indices();
  return {qr.rank(), IndexList(order.data(), order.data() + order.size())};
}

Vector<double> pivot_sizes(const Matrix<double>& A) {
  return Eigen::FullPivLU<Matrix<double>>(A).matrixLU().diagonal().cwiseAbs();
}

Matrix<double> inverse_of_cholesky_factor(Matrix<double> A) {
  const Index n = A.rows();
  if (!blas::potrf_lower(n, A.data(), n)) return Matrix<double>();
  Matrix<double> out = Matrix<double>::Identity(n, n);
  blas::trsm_left_lower(blas::Op::none, n, n, A.data(), n, out.data(), n);
  return out;
}

}  // namespace grls
