#include "base/vmath.hpp"

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
#define GRLS_SIMD_MAX(most) _Pragma(GRLS_STRING(omp simd reduction(max : most)))
#define GRLS_SIMD_MAX2(most, wide) _Pragma(GRLS_STRING(omp simd reduction(max : most, wide)))
#define GRLS_STRING(text) #text
#else
#define GRLS_SIMD_SUM(sum)
#define GRLS_SIMD_MAX(most)
#define GRLS_SIMD_MAX2(most, wide)
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

// log(x), x > 0 and not subnormal: x = 2^e m with m between sqrt(1/2) and sqrt(2), and with s = (m - 1)/(m +
// 1) log(m) = 2 (s + s³/3 + s⁵/5 + …). The exponent becomes a number in the low bits of 2^52 (2^23).
GRLS_INLINE double log1(double x) {
  constexpr std::uint64_t kOne = 0x3ff0000000000000u, kRootHalf = 0x3fe6a09e667f3bcdu;
  const std::uint64_t t = bits<std::uint64_t>(x) + (kOne - kRootHalf);
  const double e = bits<double>((t >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
  const double f = bits<double>((t & 0xfffffffffffffu) + kRootHalf) - 1.0;
  const double s = f / (2.0 + f), z = s * s;
  double p = 1.0 / 23.0;
  p = p * z + 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  return e * 6.93147180559945286227e-01 + (2.0 * s + 2.0 * s * z * p);
}

GRLS_INLINE float log1(float x) {
  constexpr std::uint32_t kOne = 0x3f800000u, kRootHalf = 0x3f3504f3u;
  const std::uint32_t t = bits<std::uint32_t>(x) + (kOne - kRootHalf);
  const float e = bits<float>((t >> 23) | 0x4b000000u) - (8388608.0f + 127.0f);
  const float f = bits<float>((t & 0x7fffffu) + kRootHalf) - 1.0f;
  const float s = f / (2.0f + f), z = s * s;
  float p = 1.0f / 11.0f;
  p = p * z + 1.0f / 9.0f;
  p = p * z + 1.0f / 7.0f;
  p = p * z + 1.0f / 5.0f;
  p = p * z + 1.0f / 3.0f;
  return e * 6.93147181e-01f + (2.0f * s + 2.0f * s * z * p);
}

// log(1 + u), u >= 0: what 1 + u loses of a small u is put back.
template <class S>
GRLS_INLINE S log1p1(S u) {
  const S w = 1 + u;
  return log1(w) + (u - (w - 1)) / w;
}

// x^h for real h > 0; what is too small for a logarithm is zero.
template <class S>
GRLS_INLINE S power1(S x, S h) {
  const S value = exp1(h * log1(x));
  return x < std::numeric_limits<S>::min() ? S(0) : value;
}

template <class S>
GRLS_INLINE S whole_power(S base, int degree) {
  S result = 1;
  for (int e = degree; e > 0; e >>= 1, base *= base) result = (e & 1) ? result * base : result;
  return result;
}

template <class S>
GRLS_INLINE S chi_squared1(S a, S b) {
  const S sum = a + b, difference = a - b;
  return sum > 0 ? difference * difference / sum : S(0);
}

template <class S>
GRLS_INLINE S sum_of_squares(const S* a, const S* b, Index n) {
  S sum = 0;
  GRLS_SIMD_SUM(sum)
  for (Index i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

// W columns of a sparse row times a matrix, their sums in registers.
template <int W>
GRLS_INLINE void gather(const double* values, const std::int32_t* columns, Index count, const double* X,
                        Index q, double* out) {
  double sum[W] = {};
  for (Index e = 0; e < count; ++e) {
    const double value = values[e];
    const double* const row = X + static_cast<Index>(columns[e]) * q;
    for (int j = 0; j < W; ++j) sum[j] += value * row[j];
  }
  for (int j = 0; j < W; ++j) out[j] = sum[j];
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
    for (Index i = 0; i < n; ++i) x[i] = whole_power(x[i], degree);                                      \
  }                                                                                                      \
  GRLS_CLONES void matern3(S* x, Index n, S a) {                                                         \
    for (Index i = 0; i < n; ++i) {                                                                      \
      const S s = a * std::sqrt(x[i]);                                                                   \
      x[i] = (1 + s) * exp1(-s);                                                                         \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES void matern5(S* x, Index n, S a) {                                                         \
    for (Index i = 0; i < n; ++i) {                                                                      \
      const S r = a * std::sqrt(x[i]), s = r > 1000 ? 1000 : r; /* beyond, the value is zero */          \
      x[i] = (1 + s + s * s * S(1.0 / 3.0)) * exp1(-s);                                                  \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES void spherical(S* x, Index n, S a) {                                                       \
    for (Index i = 0; i < n; ++i) {                                                                      \
      const S h = a * std::sqrt(x[i]), rest = 1 - h;                                                     \
      x[i] = h < 1 ? rest * rest * (1 + S(0.5) * h) : S(0);                                              \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES void wendland(S* x, Index n, S a, int degree, const double* p) {                           \
    const S p0 = static_cast<S>(p[0]), p1 = static_cast<S>(p[1]), p2 = static_cast<S>(p[2]),             \
            p3 = static_cast<S>(p[3]);                                                                   \
    for (Index i = 0; i < n; ++i) {                                                                      \
      const S h = a * std::sqrt(x[i]);                                                                   \
      const S value = whole_power(1 - h, degree) * (p0 + h * (p1 + h * (p2 + h * p3)));                  \
      x[i] = h < 1 ? value : S(0);                                                                       \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES void log_kernel(S* x, Index n, S h) {                                                      \
    if (h == S(0.5)) {                                                                                   \
      for (Index i = 0; i < n; ++i) x[i] = -log1p1(std::sqrt(x[i]));                                     \
    } else if (h == S(1)) {                                                                              \
      for (Index i = 0; i < n; ++i) x[i] = -log1p1(x[i]);                                                \
    } else {                                                                                             \
      for (Index i = 0; i < n; ++i) x[i] = -log1p1(power1(x[i], h));                                     \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES void multiquadric(S* x, Index n, S a) {                                                    \
    for (Index i = 0; i < n; ++i) x[i] = -std::sqrt(1 + a * x[i]);                                       \
  }                                                                                                      \
  GRLS_CLONES void rational(S* x, Index n, S a, S b) {                                                   \
    constexpr S kMost = std::numeric_limits<S>::max(); /* infinity has no logarithm here */              \
    for (Index i = 0; i < n; ++i) {                                                                      \
      const S u = a * x[i];                                                                              \
      x[i] = exp1(-b * log1p1(u > kMost ? kMost : u));                                                   \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES void sqrt_power(S* x, Index n, int degree, S a) {                                          \
    for (Index i = 0; i < n; ++i) x[i] = a * whole_power(x[i], degree) * std::sqrt(x[i]);                \
  }                                                                                                      \
  GRLS_CLONES void power_log(S* x, Index n, int degree, S a) {                                           \
    for (Index i = 0; i < n; ++i) {                                                                      \
      const S value = a * whole_power(x[i], degree) * log1(x[i]);                                        \
      x[i] = x[i] < std::numeric_limits<S>::min() ? S(0) : value;                                        \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES void series(S* x, Index n, const double* coefficients, Index count) {                      \
    constexpr Index kChunk = 256;                                                                        \
    S base[kChunk];                                                                                      \
    for (Index first = 0; first < n; first += kChunk) {                                                  \
      const Index size = n - first < kChunk ? n - first : kChunk;                                        \
      S* const sum = x + first;                                                                          \
      for (Index i = 0; i < size; ++i) {                                                                 \
        base[i] = sum[i];                                                                                \
        sum[i] = static_cast<S>(coefficients[count - 1]);                                                \
      }                                                                                                  \
      for (Index p = count - 2; p >= 0; --p) {                                                           \
        const S a = static_cast<S>(coefficients[p]);                                                     \
        for (Index i = 0; i < size; ++i) sum[i] = sum[i] * base[i] + a;                                  \
      }                                                                                                  \
    }                                                                                                    \
  }                                                                                                      \
  GRLS_CLONES void multiply_scaled(S* x, const S* y, Index n, S a) {                                     \
    for (Index i = 0; i < n; ++i) x[i] *= a * y[i];                                                      \
  }                                                                                                      \
  GRLS_CLONES void add_absolute_difference(S* x, const S* y, Index n, S z) {                             \
    for (Index i = 0; i < n; ++i) x[i] += std::abs(y[i] - z);                                            \
  }                                                                                                      \
  GRLS_CLONES void add_mismatch(S* x, const double* y, Index n, double z, S a) {                         \
    for (Index i = 0; i < n; ++i) x[i] += y[i] != z ? a : S(0);                                          \
  }                                                                                                      \
  GRLS_CLONES void add_chi_squared(S* x, const S* y, Index n, S z) {                                     \
    for (Index i = 0; i < n; ++i) x[i] += chi_squared1(y[i], z);                                         \
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
      x[i] = value < 0 ? 0 : value;                                                                      \
    }                                                                                                    \
    return lost != 0;                                                                                    \
  }
GRLS_DEFINE(double)
GRLS_DEFINE(float)
#undef GRLS_DEFINE

GRLS_CLONES void responsibilities(const double* __restrict a, const double* __restrict B, Index size,
                                  const std::int64_t* __restrict columns, const double* __restrict x, Index n,
                                  double* __restrict p, double* __restrict sums) {
  const Index K = size / kLanes * kLanes;
  for (Index j = 0; j < n; ++j) {
    const double* __restrict b = B + columns[j] * K;
    double product = 0;
    GRLS_SIMD_SUM(product)
    for (Index k = 0; k < K; ++k) product += a[k] * b[k];
    p[j] = product;
    const double ratio = product > 0 ? x[j] / product : 0.0;
    for (Index k = 0; k < K; ++k) sums[k] += ratio * b[k];
  }
}

GRLS_CLONES void multiply_power(double* x, const double* y, Index n, double a) {
  for (Index i = 0; i < n; ++i) x[i] *= power1(y[i], a);
}

GRLS_CLONES double weighted_log_sum(const double* x, const double* w, Index n) {
  double sum = 0;
  GRLS_SIMD_SUM(sum)
  for (Index i = 0; i < n; ++i) {
    const double value = w[i] * log1(x[i]);
    sum += x[i] < std::numeric_limits<double>::min() ? 0.0 : value;
  }
  return sum;
}
#define GRLS_DEFINE(S)                                                                                    \
  GRLS_CLONES void add_rows(double* y, const S* const* x, const double* a, Index rows, Index offset,      \
                            Index n) {                                                                    \
    Index k = 0;                                                                                          \
    for (; k + 4 <= rows; k += 4) {                                                                       \
      const S *const x0 = x[k] + offset, *const x1 = x[k + 1] + offset, *const x2 = x[k + 2] + offset,    \
                     *const x3 = x[k + 3] + offset;                                                       \
      const double a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];                                \
      for (Index j = 0; j < n; ++j)                                                                       \
        y[j] += (a0 * static_cast<double>(x0[j]) + a1 * static_cast<double>(x1[j])) +                     \
                (a2 * static_cast<double>(x2[j]) + a3 * static_cast<double>(x3[j]));                      \
    }                                                                                                     \
    for (; k < rows; ++k)                                                                                 \
      for (Index j = 0; j < n; ++j) y[j] += a[k] * static_cast<double>(x[k][offset + j]);                 \
  }                                                                                                       \
  GRLS_CLONES void smo_move_pair(S* r, const S* x, S a, const S* y, S b, const S* up, Index n, S* best) { \
    for (Index first = 0; first < n; first += kBlock) {                                                   \
      S most = -std::numeric_limits<S>::infinity();                                                       \
      GRLS_SIMD_MAX(most)                                                                                 \
      for (Index i = first; i < first + kBlock; ++i) {                                                    \
        const S moved = r[i] - a * x[i] - b * y[i];                                                       \
        r[i] = moved;                                                                                     \
        const S seen = moved - up[i];                                                                     \
        most = seen > most ? seen : most;                                                                 \
      }                                                                                                   \
      best[first / kBlock] = most;                                                                        \
    }                                                                                                     \
  }                                                                                                       \
  GRLS_CLONES S smo_pair_gain(const S* r, const S* down, const S* k_i, const S* diagonal, S r_i, S k_ii,  \
                              Index n, S* best) {                                                         \
    S widest = 0;                                                                                         \
    for (Index first = 0; first < n; first += kBlock) {                                                   \
      S most = 0, wide = 0;                                                                               \
      GRLS_SIMD_MAX2(most, wide)                                                                          \
      for (Index i = first; i < first + kBlock; ++i) {                                                    \
        const S apart = r_i - r[i] + down[i];                                                             \
        const S open = apart > 0 ? apart : S(0);                                                          \
        const S curvature = k_ii + diagonal[i] - 2 * k_i[i];                                              \
        const S gain = open * open / (curvature > kCurvature<S> ? curvature : kCurvature<S>);             \
        most = gain > most ? gain : most;                                                                 \
        wide = open > wide ? open : wide;                                                                 \
      }                                                                                                   \
      best[first / kBlock] = most;                                                                        \
      widest = wide > widest ? wide : widest;                                                             \
    }                                                                                                     \
    return widest;                                                                                        \
  }                                                                                                       \
  GRLS_CLONES S smo_move_single(S* r, const S* x, S a, const S* up, const S* down, const S* diagonal,     \
                                Index n, S* best) {                                                       \
    S widest = 0;                                                                                         \
    for (Index first = 0; first < n; first += kBlock) {                                                   \
      S most = 0, wide = 0;                                                                               \
      GRLS_SIMD_MAX2(most, wide)                                                                          \
      for (Index i = first; i < first + kBlock; ++i) {                                                    \
        const S moved = r[i] - a * x[i];                                                                  \
        r[i] = moved;                                                                                     \
        const S rise = moved - up[i], fall = down[i] - moved;                                             \
        const S wider = rise > fall ? rise : fall;                                                        \
        const S open = wider > 0 ? wider : S(0);                                                          \
        const S gain = open * open / (diagonal[i] > kCurvature<S> ? diagonal[i] : kCurvature<S>);         \
        most = gain > most ? gain : most;                                                                 \
        wide = open > wide ? open : wide;                                                                 \
      }                                                                                                   \
      best[first / kBlock] = most;                                                                        \
      widest = wide > widest ? wide : widest;                                                             \
    }                                                                                                     \
    return widest;                                                                                        \
  }
GRLS_DEFINE(double)
GRLS_DEFINE(float)
#undef GRLS_DEFINE

GRLS_CLONES void sparse_times(const double* values, const std::int32_t* columns, Index count, const double* X,
                              Index q, double* out) {
  Index j = 0;
  for (; q - j >= 32; j += 32) gather<32>(values, columns, count, X + j, q, out + j);
  for (; q - j >= 24; j += 24) gather<24>(values, columns, count, X + j, q, out + j);
  for (; q - j >= 16; j += 16) gather<16>(values, columns, count, X + j, q, out + j);
  for (; q - j >= 8; j += 8) gather<8>(values, columns, count, X + j, q, out + j);
  for (; q - j >= 4; j += 4) gather<4>(values, columns, count, X + j, q, out + j);
  for (; j < q; ++j) gather<1>(values, columns, count, X + j, q, out + j);
}

}  // namespace grls::vmath
