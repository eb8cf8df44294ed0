#include "least_squares/inverse.hpp"

#include <algorithm>

#include "matrices/factor.hpp"
#include "matrices/symmetric.hpp"

namespace grls {

void inverse_in_samples(const Context& context, const Basis& basis, Index m, BlockTriangle<double>& A) {
  const Index n = A.pivots();
  invert(context, A);
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j); ++q) {
      const Index first = std::max(n, A.start(j));
      std::fill_n(A.at(first, j) + q * A.ld(j), A.order() - first, 0.0);
    }
  if (basis.rank() > 0) transform(context, A, 0, m, basis.Z, basis.V);  // M B Mᵀ, M = I - Z Vᵀ
}

Vector<double> diagonal_of(const BlockTriangle<double>& A, Index m) {
  Vector<double> out(m);
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j) && A.start(j) + q < m; ++q)
      out[A.start(j) + q] = A.at(A.start(j) + q, j)[q * A.ld(j)];
  return out;
}

}  // namespace grls
