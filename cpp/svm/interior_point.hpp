// Mehrotra's predictor-corrector interior point method for the dual of svm/dual.hpp: a dozen or two of
// factorisations whatever the bounds, the features and the conditioning are.
#pragma once

#include "matrices/assemble.hpp"
#include "svm/dual.hpp"

namespace grls {

// Φ as the method needs it: products, and solutions with a diagonal added.
class Hessian {
 public:
  virtual ~Hessian() = default;
  virtual double diagonal(Index i) const = 0;                  // Φ_ii
  virtual Vector<double> times(const Vector<double>& x) = 0;   // Φx
  virtual void factorise(const Vector<double>& diagonal) = 0;  // of Φ + diagonal
  virtual Matrix<double> solve(const Matrix<double>& B) = 0;   // (Φ + diagonal)⁻¹B
};

// A stored kernel matrix: 8m² bytes, for it and for its factor.
class DenseHessian : public Hessian {
 public:
  // order: the samples that take part; empty: all.
  DenseHessian(const Context& context, const GramSource& source, const IndexList& order);
  double diagonal(Index i) const override { return *phi_.column(i, i); }
  Vector<double> times(const Vector<double>& x) override;
  void factorise(const Vector<double>& diagonal) override;
  Matrix<double> solve(const Matrix<double>& B) override;
  static double bytes(Index m) { return 2 * BlockTriangle<double>::bytes(m); }

 private:
  const Context& context_;
  BlockTriangle<double> phi_, factor_;
  Vector<double> scale_;  // makes the diagonal of what is factorised one
};

// Φ = 0: a linear program in gamma, or its least-norm solution with a large τ.
class ZeroHessian : public Hessian {
 public:
  double diagonal(Index) const override { return 0; }
  Vector<double> times(const Vector<double>& x) override { return Vector<double>::Zero(x.size()); }
  void factorise(const Vector<double>& diagonal) override { inverse_ = diagonal.cwiseInverse(); }
  Matrix<double> solve(const Matrix<double>& B) override { return inverse_.asDiagonal() * B; }

 private:
  Vector<double> inverse_;
};

struct InteriorPoint {
  Vector<double> c, gamma;
  int iterations = 0;
  bool converged = false;
};

// Until the complementarity gap is below `tolerance` times the primal value. Coefficients next to a bound are
// then put on it, unless that leaves a gap of more than `acceptable`.
InteriorPoint interior_point(const Context& context, const SvmQp& qp, Hessian& hessian, double tolerance,
                             double acceptable, int max_iterations);

// Of all gamma that are as good as the given one for a given c with image Φc (solutions of the linear program
// (25) of the paper), the one of least norm.
Vector<double> least_norm_gamma(const Context& context, const SvmQp& qp, const Vector<double>& c,
                                const Vector<double>& image, const Vector<double>& gamma, double tolerance);

}  // namespace grls
