#include "svm/feature_basis.hpp"

namespace grls {

FeatureBasis feature_basis(const Context& context, const Matrix<double>& T, const Vector<double>& roots,
                           double dependence, bool find_constant) {
  FeatureBasis out;
  out.basis = orthonormal_basis(roots.asDiagonal() * T, dependence, &context);
  const Index m = T.rows(), r = out.basis.rank();
  out.U = Matrix<double>::Zero(m, r);
  out.rotation = Matrix<double>::Identity(r, r);
  if (r == 0) return out;
  out.U.bottomRows(r).setIdentity();
  out.U = out.basis.times(out.U);

  const Vector<double> ones = roots.normalized();
  Vector<double> w = out.U.transpose() * ones;
  out.balanced = find_constant && (ones - out.U * w).norm() < 1e-10;
  if (out.balanced) {
    w.normalize();
    w[0] -= 1;
    if (w.norm() > 1e-8) {
      w.normalize();
      out.rotation -= 2 * w * w.transpose();
      out.U = out.U * out.rotation;
    }
    out.U.col(0) = ones;
  }
  // Orthonormal with the weights: a sample of weight two is the sample twice.
  out.U = roots.cwiseInverse().asDiagonal() * out.U;
  return out;
}

}  // namespace grls
