// Products of dense matrices, each compiled once and computed by the BLAS that is there: where Eigen's own
// operator stands, its kernels are compiled anew, which is most of what such a file takes to compile.
#pragma once

#include "base/types.hpp"

namespace grls {

template <class S>
using View = Eigen::Ref<const Matrix<S>, 0, Eigen::OuterStride<>>;

// AB
Matrix<double> product(const View<double>& A, const View<double>& B);
Matrix<float> product(const View<float>& A, const View<float>& B);

// AᵀB
Matrix<double> transposed_product(const View<double>& A, const View<double>& B);
Matrix<float> transposed_product(const View<float>& A, const View<float>& B);

}  // namespace grls
