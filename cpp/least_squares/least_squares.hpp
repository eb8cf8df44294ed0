// Generalised regularised least squares (G-RLS): the exact minimiser of eq. (2) and the published eqs.
// (26)-(27).
//
//   minimise  1/Σw Σ_i w_i (y_i - f(x_i))² + γ cᵀΦc,   f = Σ_i c_i Φ(x_i, ·) + Σ_p β_p φ_p,   Tᵀc = 0
//
// With M = [N M₂] a basis (matrices/basis.hpp) and n = m - l, one partial factorisation of the bordered
// matrix
//   [ MᵀΦM + shift  MᵀY ]
//   [ (MᵀY)ᵀ         0  ]
// over its first n pivots gives L, the forward substitution of NᵀY, and in the Schur complement the
// right-hand side of the features' coefficients.
#pragma once

#include <limits>
#include <memory>
#include <optional>

#include "matrices/assemble.hpp"

namespace grls {

enum class Formulation {
  exact,      // orthonormal basis: (Q₂ᵀΦQ₂ + γm I) z = Q₂ᵀy, c = Q₂ z, β from Q₁ᵀ(y - Φc)
  published,  // pivot basis: λ̃ = y₁, (H + γm I) c̃ = y₂ - Eᵀλ̃
};

enum class Precision {
  float64,
  float32,
  mixed,  // float32 factor, float64 answer; float64 throughout where the matrix is too ill-conditioned for
          // that
  automatic,  // mixed for large and well regularised problems
};

struct Problem {
  GramSource gram;
  Matrix<double> T;        // (m, l)
  Matrix<double> Y;        // (m, k)
  Vector<double> weights;  // (m) positive, or empty
  double shift = 0;        // γ Σw
  Formulation formulation = Formulation::exact;
  Pivots pivots = Pivots::qr;
  double tolerance = 0;  // of dependent features
  Precision precision = Precision::float64;
};

struct Solution {
  Matrix<double> c;     // (m, k)
  Matrix<double> beta;  // (l, k)
  // With y = Tβ + f + noise, f of covariance τ²Φ and noise of variance τ²·shift / w_i:
  Vector<double> quadratic;           // (k): yᵀBy, whose mean is τ²(m - l)
  Matrix<double> feature_covariance;  // (l, l): covariance of β / τ²; zero where a feature was dropped
  IndexList kept;                     // features that have a coefficient
  Precision precision;                // of the factor that was used
  int iterations = 0;                 // of conjugate gradients, in mixed precision
  // |y - f - shift c/w| over |y| outside the features' span, the worst column: a bound from the factor, and
  // where that bound is not small what was measured.
  double residual = 0;
  struct {
    double basis, gram, assemble, factor, solve;
  } seconds{};
};

// Throws NotPositiveDefinite where the matrix is, or is so ill-conditioned that the solution does not solve
// its equations.
Solution solve(const Context& context, const Problem& problem);

// The memory of a factorisation of that order: samples and right-hand sides.
double solve_bytes(Index order, Precision precision);

// The stages before the factorisation. `sorted`: for weights of very different sizes, in the orthonormal
// basis.
template <class S>
struct Assembled {
  Basis basis;
  Vector<double> s;                     // square roots of the weights, or empty
  std::unique_ptr<BlockTriangle<S>> A;  // MᵀΦM over n = m - l pivots, with room for k border rows
  Matrix<double> B;                     // MᵀY (m, k)
  double basis_seconds = 0, gram_seconds = 0, transform_seconds = 0;
};
// Whether the weights are so different that the order of the samples matters to rounding.
bool has_wide_weights(const Problem& problem);
template <class S>
Assembled<S> assemble_problem(const Context& context, const Problem& problem, bool sorted = false);

// MᵀΦM restricted to the null space of the features: H of eq. (11) in the pivot basis, H⊥ in the orthonormal
// one.
Matrix<double> assemble_reduced(const Context& context, const GivenGram& gram, const Basis& basis);

}  // namespace grls
