// The spectrum of a double-centred kernel matrix: what kernel PCA needs (thesis, section 3.1).
//
//   K (m, m)            kernel matrix
//   K̃ = J K J           J = I - 11ᵀ/m: eq. (3.1), K of the points moved to their mean in feature space
//   K̃ U = U diag(λ)     eqs. (3.8)-(3.9); the components of the points are U √λ
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "matrices/assemble.hpp"

namespace grls {

struct CentredGram {
  std::unique_ptr<BlockTriangle<double>> K;  // K̃
  Vector<double> means;                      // (m): the means of the columns of K before centring
  double trace = 0;                          // of K̃: the variance of all components together
};
CentredGram centred_gram(const Context& context, const GramSource& source);

// K̃ as LAPACK takes it: (m, m), the lower triangle filled, zeros above.
Matrix<double> lower_of(const Context& context, const BlockTriangle<double>& K);

struct TopSpectrum {
  Vector<double> values;     // (k), descending
  Matrix<double> vectors;    // (m, k), orthonormal and orthogonal to the constants
  Vector<double> residuals;  // (k): |K̃u - λu|
  double smallest = 0;       // a value the spectrum reaches down to: negative only if K̃ is indefinite
  int products = 0;          // of K̃ with a block of vectors
  // Converged: every residual is below max(tolerance |λ_i|, rounding).
  Status status = Status::iteration_limit;
};

// The k < m largest eigenvalues by block Lanczos with full reorthogonalisation and thick restarts. K must be
// centred. The answer depends on the seed, not on the number of threads.
TopSpectrum top_spectrum(const Context& context, const BlockTriangle<double>& K, Index k, double tolerance,
                         int max_products, std::uint64_t seed);

}  // namespace grls
