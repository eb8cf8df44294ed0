// The posterior of a fitted model: its factor, kept for variances at any number of new points.
//
// With y = Tβ + g + noise, cov g = v²Φ and noise of variance v²·shift / w_i, what is asked for is a linear
// function of (g, β) with kernel values κ (m), its prior covariance with g at the samples, and features φ
// (l):
//   f(x)  κ = k(x_i, x), φ = φ(x)      g(x)  the same κ, φ = 0      φ(x)ᵀβ  κ = 0, the same φ
// With M = [N M₂] the orthonormal basis, n = m - l, L the factor of NᵀΦN + shift, L₂₁ its border, S the Schur
// complement, C β = … as in matrices/basis.hpp:
//   v = L⁻¹Nᵀκ,  w = M₂ᵀκ - L₂₁v,  t = C⁻ᵀφ
//   cov(1, 2) / v² = prior - v₁ᵀv₂ + t₁ᵀSt₂ - t₁ᵀw₂ - w₁ᵀt₂
// With λ = [L⁻ᵀ(v - L₂₁ᵀt); t] that is a quadratic form in (1, λ), the least there is, of which rounding
// changes about ε (√prior + Σ |λ_i| √A_ii)², A = MᵀΦM + shift. The uncertainty of the features' coefficients
// is part of it: universal kriging.
#pragma once

#include <memory>
#include <variant>

#include "least_squares/least_squares.hpp"

namespace grls {

// Where the κ come from: a formula between the samples and new rows, or the values themselves.
struct KernelOfNewRows {
  const Formula& formula;
  const Rows& samples;
  const Rows& rows;
};
struct GivenKernelColumns {
  const double* data;  // (points, m), row-major
  Index points, m;
};
using KernelColumns = std::variant<KernelOfNewRows, GivenKernelColumns>;

class Posterior {
 public:
  // Factorises: `problem` of formulation exact; its targets are not read.
  Posterior(const Context& context, const Problem& problem);

  Index samples() const { return m_; }
  Index features() const { return basis_.n_features; }

  // Both add to the prior, in units of v², what the samples and the features tell; T_new (points, l).
  // variance (points); returns what rounding may hide of a variance, as the largest share of any.
  double add_to_variance(const Context& context, const KernelColumns& values, const Matrix<double>& T_new,
                         Vector<double>& variance) const;
  // covariance (points, points), symmetric
  void add_to_covariance(const Context& context, const KernelColumns& values, const Matrix<double>& T_new,
                         double* covariance) const;

 private:
  struct Drift {
    Matrix<double> t, St;  // (l, points)
  };
  void check(const KernelColumns& values, const Matrix<double>& T_new) const;
  Drift drift(const Context& context, const Matrix<double>& T_new) const;
  // What rounding may change of the variances, from X = [v; w] of `count` points; 0 where that is nothing.
  Vector<double> rounding(const double* X, Index count, const Matrix<double>& t, const double* prior,
                          const double* variance) const;
  // X (m, k), ld apart: from κ to √w κ in the coordinates of the basis.
  void to_basis(double* X, Index k, Index ld) const;

  Index m_;
  Basis basis_;
  Vector<double> s_;                          // square roots of the weights, or empty
  std::unique_ptr<BlockTriangle<double>> L_;  // over n pivots, with the border
  Matrix<double> schur_;                      // (l, l)
  Matrix<double> L21_;                        // (l, n)
  Vector<double> sizes_;                      // (m): square roots of the diagonal before it was factorised
  double shift_;
};

// The memory of a posterior, and of the covariance of so many points with it.
double posterior_bytes(Index m, Index n_features);
double covariance_bytes(Index m, Index n_points);

}  // namespace grls
