// The alphabet of kernel formulas: terms, which make kernel values from what the points give, and
// combinations, which make kernels of kernels.
#pragma once

#include <memory>
#include <vector>

#include "base/types.hpp"
#include "kernels/matern.hpp"

namespace grls {

// To add a kernel: a term here, its lines in kernels/terms.cpp, its name in bindings/kernels.cpp, its class
// in python/grls/kernels.
enum class Term {
  constant,            // a
  linear,              // <x, z>
  polynomial,          // (<x, z> + a)^degree
  sigmoid,             // tanh(a <x, z> + b)
  gaussian,            // exp(-r² / (2 a²)), r = |x - z|
  laplace,             // exp(-r / a)
  matern,              // degree 3: (1 + s) exp(-s), degree 5: (1 + s + s²/3) exp(-s), s = sqrt(degree) r / a
  rational_quadratic,  // (1 + r² / (2 b a²))^-b
  log,                 // -log(1 + r^a)
  multiquadric,        // -sqrt(1 + r² / a²)
  polyharmonic,        // odd degree: ± r^degree, even: ± r^degree log(r); conditionally positive definite
  chi_squared,         // exp(-a Σ (x - z)² / (x + z))
  laplace_l1,          // exp(-r₁ / a), r₁ = Σ |x - z|
  matern_nu,           // M_b(s), s = sqrt(2 b) r / a: any smoothness b (kernels/matern.hpp)
  spherical,           // 1 - 3/2 h + h³/2, h = r / a; zero from h = 1 on
  wendland,  // φ_{b, degree}(h), h = r / a: Wendland's functions of degree 0 to 3; zero from h = 1 on
  overlap,   // 1 - a n, n = Σ [x ≠ z]
  hamming,   // exp(-n / a)
};

// What a term reads of two points.
enum class Quantity { none, products, distances, chi_squared, manhattan, mismatches };
Quantity quantity(Term term);

enum class Combine {
  sum,
  product,
  scale,        // a k
  power,        // k^degree
  exponential,  // exp(k)
  series,       // Σ_p coefficients_p k^p
  normalize,    // k(x, z) / sqrt(k(x, x) k(z, z)); zero where k(x, x) or k(z, z) is
  arc_cosine,   // s^degree J_degree(cos θ = k(x, z) / s) / π, s = sqrt(k(x, x) k(z, z)); zero where s is
};
int operands(Combine combine);

// One step of a formula in postfix order: a term pushes a tile, a combination works on the top one or two.
struct Step {
  bool is_term = true;
  Term term = Term::constant;
  Combine combine = Combine::sum;
  Index group = 0;      // which ColumnGroup the term reads
  double a = 0, b = 0;  // parameters of the term, or the factor of Combine::scale
  int degree = 0;       // exponent of Term::polynomial and Combine::power, and the kind of some terms
  std::vector<double> coefficients;          // of Combine::series
  std::shared_ptr<const MaternTable> table;  // of Term::matern_nu

  // Whether a combination looks at k(x, x) and k(z, z) too.
  bool reads_diagonal() const { return is(Combine::normalize) || is(Combine::arc_cosine); }

  bool is(Combine which) const { return !is_term && combine == which; }
  void check() const;  // parameters in range
};

// x (n) holds the quantity that the term reads and is overwritten with the kernel's values.
template <class S>
void apply_term(const Step& step, S* x, Index n);

// x (n) becomes the combination of x and, where there are two operands, y. Not for Combine::normalize, which
// needs to know the points, and Combine::arc_cosine.
template <class S>
void apply_combination(const Step& step, S* x, const S* y, Index n);

// The steps that read the diagonal: x (n) are values of k, `roots` (n) and `root` are k(x, x)^(-1/2) on both
// sides.
template <class S>
void apply_on_diagonal(const Step& step, S* x, const S* roots, S root, Index n);

// What such a step makes of k(x, x) itself, which is not negative.
double on_own_diagonal(const Step& step, double k);
double slope_on_own_diagonal(const Step& step, double k);

// The way back through it: k (n) the operand, `back` (n) becomes weight ∂value/∂k, and `share` (n) becomes
// -weight · 2 k(x, x) ∂value/∂k(x, x), which is the same on both sides.
void differentiate_on_diagonal(const Step& step, const double* k, const double* value, const double* roots,
                               double root, const double* weight, Index n, double* back, double* share);

// The way back, for gradients: x (n) what a term read, value (n) what it made of it, weight (n) how much each
// value counts. Adds Σ weight ∂value/∂a and Σ weight ∂value/∂b, and with `slope` sets weight ∂value/∂x for a
// term that reads columns with widths (elsewhere columns have none).
struct TermGradient {
  double a = 0, b = 0;
};
TermGradient differentiate_term(const Step& step, const double* x, const double* value, const double* weight,
                                Index n, double* slope);

// ∂value/∂x of any term that reads points, by the products, squared distances, … x (n) that it reads; zero at
// distance zero, where some have none: the gradient of a smooth kernel by a point is zero there anyway.
void slope_by_quantity(const Step& step, const double* x, const double* value, Index n, double* slope);

// The way back through a combination of one operand: x (n) the operand, becomes weight ∂value/∂x in `back`;
// returns Σ weight ∂value/∂a, and adds the derivatives of a series' coefficients to `coefficients`, unless it
// is null.
double differentiate_combination(const Step& step, const double* x, const double* value, const double* weight,
                                 Index n, double* back, double* coefficients);

}  // namespace grls
