#include "matrices/products.hpp"

#include "base/blas.hpp"
#include "base/errors.hpp"

namespace grls {
namespace {

template <class S>
Matrix<S> multiplied(blas::Op a_op, const View<S>& A, const View<S>& B) {
  const bool turned = a_op == blas::Op::transpose;
  const Index rows = turned ? A.cols() : A.rows(), inner = turned ? A.rows() : A.cols();
  require(inner == B.rows(), "the product of (", rows, ", ", inner, ") and (", B.rows(), ", ", B.cols(), ")");
  if (rows == 0 || inner == 0 || B.cols() == 0) return Matrix<S>::Zero(rows, B.cols());
  Matrix<S> out(rows, B.cols());
  blas::gemm<S>(a_op, blas::Op::none, rows, B.cols(), inner, S(1), A.data(), A.outerStride(), B.data(),
                B.outerStride(), S(0), out.data(), rows);
  return out;
}

}  // namespace

Matrix<double> product(const View<double>& A, const View<double>& B) {
  return multiplied<double>(blas::Op::none, A, B);
}
Matrix<float> product(const View<float>& A, const View<float>& B) {
  return multiplied<float>(blas::Op::none, A, B);
}
Matrix<double> transposed_product(const View<double>& A, const View<double>& B) {
  return multiplied<double>(blas::Op::transpose, A, B);
}
Matrix<float> transposed_product(const View<float>& A, const View<float>& B) {
  return multiplied<float>(blas::Op::transpose, A, B);
}

}  // namespace grls
