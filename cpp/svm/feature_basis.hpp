// The predefined features as the dual of svm/dual.hpp sees them: U, orthonormal with the samples' weights,
// the constant first where the features span it, and the way back to the features' coefficients.
#pragma once

#include "base/types.hpp"
#include "matrices/basis.hpp"

namespace grls {

struct FeatureBasis {
  Basis basis;
  Matrix<double> rotation;  // gamma of the basis = rotation · gamma of U
  Matrix<double> U;         // (m, r)
  bool balanced = false;    // the first column of U is constant

  // beta (l, k); zero where a feature was dropped.
  Matrix<double> coefficients(const Matrix<double>& gamma) const {
    return basis.feature_coefficients(rotation * gamma);
  }
};

// T (m, l); roots: square roots of the weights. find_constant: whether the constant is to come first.
FeatureBasis feature_basis(const Context& context, const Matrix<double>& T, const Vector<double>& roots,
                           double dependence, bool find_constant);

}  // namespace grls
