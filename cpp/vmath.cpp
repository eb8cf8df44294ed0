#include "vmath.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#ifdef GRLS_TARGET_CLONES
#define GRLS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GRLS_CLONES
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define GRLS_INLINE inline __attribute__((always_inline))
#else
#define GRLS_INLINE inline
#endif

// Lets a sum be taken in another order, which plain C++ forbids; a compiler that does not know it takes it in
// order.
#if defined(__GNUC__)
#define GRLS_SIMD_SUM(sum) _Pragma(GRLS_STRING(omp simd reduction(+ : sum)))
#define GRLS_STRING(text) #text
#else
#define GRLS_SIMD_SUM(sum)
#endif

namespace grls::vmath {
namespace {

template <class To, class From>
GRLS_INLINE To bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits of equal width");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// exp(x) = 2^n exp(r), n the integer nearest to x / ln 2, |r| <= ln 2 / 2, exp(r) by its Taylor polynomial.
// Adding 1.5·2^52 (1.5·2^23) rounds to an integer and leaves it in the low bits of the sum.
GRLS_INLINE double exp1(double x) {
  constexpr double kMagic = 6755399441055744.0, kLow = -708.0, kHigh = 709.0;
  const double clamped = x < kLow ? kLow : (x > kHigh ? kHigh : x);
  const double t = clamped * 1.4426950408889634074 + kMagic;
  const double n = t - kMagic;
  const double r = (clamped - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const double y = p * bits<double>((bits<std::uint64_t>(t) + 1023u) << 52);
  const double high = x > kHigh ? std::numeric_limits<double>::infinity() : y;
  return x < kLow ? 0.0 : high;
}

GRLS_INLINE float exp1(float x) {
  constexpr float kMagic = 12582912.0f, kLow = -87.0f, kHigh = 88.0f;
  const float clamped = x < kLow ? kLow : (x > kHigh ? kHigh : x);
  const float t = clamped * 1.44269504f + kMagic;
  const float n = t - kMagic;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const float y = p * bits<float>((bits<std::uint32_t>(t) + 127u) << 23);
  const float high = x > kHigh ? std::numeric_limits<float>::infinity() : y;
  return x < kLow ? 0.0f : high;
}

template <class S>
GRLS_INLINE S sum_of_squares(const S* a, const S* b, Index n) {
  S sum = 0;
  GRLS_SIMD_SUM(sum)
  for (Index i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

#define GRLS_DEFINE(S)                                                                                   \
  GRLS_CLONES void exp_scaled(S* x, Index n, S a) {                                                      \
    for (Index i = 0; i < n; ++i) x[i] = exp1(a * x[i]);                                                 \
  }                                                                                                      \
  GRLS_CLONES void exp_scaled_sqrt(S* x, Index n, S a) {                                                 \
    for (Index i = 0; i < n; ++i) x[i] = exp1(a * std::sqrt(x[i]));                                      \
  }                                                                                                      \
  void tanh_affine(S* x, Index n, S a, S c) {                                                            \
    for (Index i = 0; i < n; ++i) x[i] = std::tanh(a * x[i] + c);                                        \
  }                                                                                                      \
  GRLS_CLONES void power(S* x, Index n, int degree) {                                                    \
    for (Index i = 0; i < n; ++i) {                                                                      \
      S result = 1, base = x[i];                                                                         \
      for (int e = degree; e > 0; e >>= 1, base *= base) result = (e & 1) ? result * base : result;      \
      x[i] = result;                                                                                     \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES void fill(S* x, Index n, S a) {                                                            \
    for (Index i = 0; i < n; ++i) x[i] = a;                                                              \
  }                                                                                                      \
  GRLS_CLONES void scale(S* x, Index n, S a) {                                                           \
    for (Index i = 0; i < n; ++i) x[i] *= a;                                                             \
  }                                                                                                      \
  GRLS_CLONES void shift(S* x, Index n, S a) {                                                           \
    for (Index i = 0; i < n; ++i) x[i] += a;                                                             \
  }                                                                                                      \
  GRLS_CLONES void add(S* x, const S* y, Index n) {                                                      \
    for (Index i = 0; i < n; ++i) x[i] += y[i];                                                          \
  }                                                                                                      \
  GRLS_CLONES void multiply(S* x, const S* y, Index n) {                                                 \
    for (Index i = 0; i < n; ++i) x[i] *= y[i];                                                          \
  }                                                                                                      \
  GRLS_CLONES void add_squared_difference(S* x, const S* y, Index n, S z) {                              \
    for (Index i = 0; i < n; ++i) {                                                                      \
      const S diff = y[i] - z;                                                                           \
      x[i] += diff * diff;                                                                               \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES S squared_distance_of(const S* a, const S* b, Index n) { return sum_of_squares(a, b, n); } \
  GRLS_CLONES void squared_distances_to(const S* x, const S* points, Index n, Index d, S* out,           \
                                        Index stride) {                                                  \
    for (Index j = 0; j < n; ++j) out[j * stride] = sum_of_squares(x, points + j * d, d);                \
  }                                                                                                      \
  GRLS_CLONES bool squared_distance(S* x, const S* a_norms, Index n, S b_norm) {                         \
    int lost = 0;                                                                                        \
    for (Index i = 0; i < n; ++i) {                                                                      \
      const S size = a_norms[i] + b_norm;                                                                \
      const S value = size - 2 * x[i];                                                                   \
      lost |= value < kCancellation<S> * size ? 1 : 0;                                                   \
      x[i] = value > 0 ? value : 0;                                                                      \
    }                                                                                                    \
    return lost != 0;                                                                                    \
  }
GRLS_DEFINE(double)
GRLS_DEFINE(float)
#undef GRLS_DEFINE

}  // namespace grls::vmath
