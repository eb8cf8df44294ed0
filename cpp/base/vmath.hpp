// Loops over contiguous numbers, compiled for several instruction sets and chosen at load time where the
// platform can do that, so that a portable wheel runs at the width of the machine.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace grls::vmath {

// Each is defined for double and float; x has n elements and is overwritten.
#define GRLS_DECLARE(S)                                                                                       \
  void exp_scaled(S* x, Index n, S a);       /* x = exp(a x), within 2 units in the last place */             \
  void exp_scaled_sqrt(S* x, Index n, S a);  /* x = exp(a sqrt(x)) */                                         \
  void tanh_affine(S* x, Index n, S a, S c); /* x = tanh(a x + c) */                                          \
  void power(S* x, Index n, int degree);     /* x = x^degree, degree >= 0 */                                  \
  void fill(S* x, Index n, S a);             /* x = a */                                                      \
  void scale(S* x, Index n, S a);            /* x = a x */                                                    \
  void shift(S* x, Index n, S a);            /* x = x + a */                                                  \
  void matern3(S* x, Index n, S a);          /* x = (1 + s) exp(-s), s = a sqrt(x) */                         \
  void matern5(S* x, Index n, S a);          /* x = (1 + s + s²/3) exp(-s), s = a sqrt(x) */                  \
  void spherical(S* x, Index n, S a);        /* x = 1 - 3/2 h + h³/2, h = a sqrt(x); 0 from 1 on */           \
  /* x = (1 - h)^degree (p_0 + p_1 h + p_2 h² + p_3 h³), h = a sqrt(x); 0 from h = 1 on */                    \
  void wendland(S* x, Index n, S a, int degree, const double* p);                                             \
  void log_kernel(S* x, Index n, S h);             /* x = -log(1 + x^h), h > 0 */                             \
  void multiquadric(S* x, Index n, S a);           /* x = -sqrt(1 + a x) */                                   \
  void rational(S* x, Index n, S a, S b);          /* x = (1 + a x)^-b */                                     \
  void sqrt_power(S* x, Index n, int degree, S a); /* x = a x^degree sqrt(x) */                               \
  void power_log(S* x, Index n, int degree, S a);  /* x = a x^degree log(x), degree >= 1, 0 at x = 0 */       \
  void series(S* x, Index n, const double* coefficients, Index count); /* x = Σ_p coefficients_p x^p */       \
  void multiply_scaled(S* x, const S* y, Index n, S a);                /* x = a x y */                        \
  void add(S* x, const S* y, Index n);                                 /* x = x + y */                        \
  void multiply(S* x, const S* y, Index n);                            /* x = x y */                          \
  void add_squared_difference(S* x, const S* y, Index n, S z);         /* x = x + (y - z)² */                 \
  void add_absolute_difference(S* x, const S* y, Index n, S z);        /* x = x + |y - z| */                  \
  void add_mismatch(S* x, const double* y, Index n, double z, S a);    /* x = x + a where y and z differ */   \
  void add_chi_squared(S* x, const S* y, Index n, S z);   /* x = x + (y - z)² / (y + z), y, z >= 0 */         \
  S squared_distance_of(const S* a, const S* b, Index n); /* Σ (a - b)² */                                    \
  /* out[j * stride] = |x - points_j|², points (n, d) row-major */                                            \
  void squared_distances_to(const S* x, const S* points, Index n, Index d, S* out, Index stride);             \
  /* x = |a|² + |b|² - 2 x from inner products; true where some result lost too many digits to cancellation \
   */                                                                                                         \
  bool squared_distance(S* x, const S* a_norms, Index n, S b_norm);                                           \
  /* y = y + Σ_k a_k x_k[offset ...], the sums in double precision */                                         \
  void add_rows(double* y, const S* const* x, const double* a, Index rows, Index offset, Index n);            \
  /* Sequential minimal optimisation over n coefficients, n a multiple of kBlock. `up` and `down` are what    \
     is taken from r where a coefficient grows or shrinks: infinite, and minus that, where it may not. Each   \
     writes one number per block of kBlock. r = r - a x - b y; best = the largest r - up */                   \
  void smo_move_pair(S* r, const S* x, S a, const S* y, S b, const S* up, Index n, S* best);                  \
  /* best = the largest gain of a pair step with (r_i, k_ii), row k_i; returns the largest r_i - (r - down)   \
   */                                                                                                         \
  S smo_pair_gain(const S* r, const S* down, const S* k_i, const S* diagonal, S r_i, S k_ii, Index n,         \
                  S* best);                                                                                   \
  /* r = r - a x; best = the largest gain of a step of one coefficient; returns the largest r - up or down -  \
     r */                                                                                                     \
  S smo_move_single(S* r, const S* x, S a, const S* up, const S* down, const S* diagonal, Index n, S* best);
GRLS_DECLARE(double)
GRLS_DECLARE(float)
#undef GRLS_DECLARE

constexpr Index kLanes = 8;  // numbers in the widest vector

// One row x of a non-negative matrix, known by its n entries in `columns`, against the mixture of columns b_j
// of B (size, d), column-major, with weights a (size): p_j = <a, b_j> and sums += Σ_j b_j x_j / p_j, to which
// p_j = 0 gives nothing. The size is a multiple of kLanes.
void responsibilities(const double* a, const double* B, Index size, const std::int64_t* columns,
                      const double* x, Index n, double* p, double* sums);
void multiply_power(double* x, const double* y, Index n, double a);  // x = x y^a, y >= 0, a > 0
double weighted_log_sum(const double* x, const double* w, Index n);  // Σ w log(x) over all x > 0

constexpr Index kBlock = 64;

// The least curvature a step is taken with: where the kernel has none, the step goes to the bound.
template <class S>
constexpr S kCurvature = sizeof(S) == 8 ? S(1e-12) : S(1e-6);
// out (q) = Σ_e values[e] · row columns[e] of X (·, q), row-major
void sparse_times(const double* values, const std::int32_t* columns, Index count, const double* X, Index q,
                  double* out);

// A squared distance below this share of |a|² + |b|² is computed again from the differences.
template <class S>
constexpr S kCancellation = sizeof(S) == 8 ? S(1e-5) : S(1e-3);

}  // namespace grls::vmath
