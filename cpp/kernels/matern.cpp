#include "kernels/matern.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/errors.hpp"
#include "base/vmath.hpp"

namespace grls {
namespace {

constexpr double kNoValue = -800;     // exp of it is zero
constexpr double kOne = 1e-17;        // G closer to zero than this is zero
constexpr double kLowest = 0x1p-120;  // of a table: below it the integral is taken
constexpr int kSplit = 2;             // bits of the mantissa that tell pieces apart: four to an octave
constexpr std::size_t kKept = 8;

// log Γ(ν) - ν log ν + ν and log ν - ψ(ν): what remains small of both for large ν.
struct GammaRemainders {
  double log_gamma, digamma;

  explicit GammaRemainders(double nu) {
    // Stirling's series from 12 on, and the recurrences Γ(x + 1) = xΓ(x), ψ(x + 1) = ψ(x) + 1/x down to ν.
    double x = nu, product = 1, sum = 0;
    while (x < 12) {
      product *= x;
      sum += 1 / x;
      x += 1;
    }
    const double r = 1 / x, r2 = r * r;
    const double series =
        r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 * (1.0 / 1680 - r2 * (1.0 / 1188)))));
    const double slope =
        r / 2 + r2 * (1.0 / 12 - r2 * (1.0 / 120 - r2 * (1.0 / 252 - r2 * (1.0 / 240 - r2 / 132))));
    log_gamma = 0.5 * std::log(2 * EIGEN_PI / x) + series;
    digamma = slope;
    if (x > nu) {
      log_gamma += x * std::log(x) - x - std::log(product) - nu * std::log(nu) + nu;
      digamma += std::log(nu / x) + sum;
    }
  }
};

MaternPoint integrate(double nu, double q, const GammaRemainders& gamma) {
  // v = log ν + log w + t with the peak at t = 0: ν w² - ν w - q/ν = 0.
  const double p = q / nu, z = 4 * p / nu, excess = z / (2 * (1 + std::sqrt(1 + z))), w = 1 + excess;
  const double right = nu * w, left = p / w;
  const double step = std::min(0.18, 0.65 / std::sqrt(right + left));
  double sum = 1, first = 0;  // Σ exp(φ(t) - φ(0)) and Σ t exp(φ(t) - φ(0))
  for (const int side : {1, -1}) {
    for (int k = 1;; ++k) {
      const double t = side * k * step, u = std::expm1(t);
      const double term = std::exp(nu * (t - u) - nu * excess * u - left * std::expm1(-t));
      sum += term;
      first += t * term;
      if (term < 1e-19 * sum) break;
    }
  }
  const double log_w = std::log1p(excess);
  const double peak = nu * (log_w - excess) - left;
  return {std::min(peak + std::log(step * sum) - gamma.log_gamma, 0.0), first / sum + log_w + gamma.digamma};
}

std::int64_t number_of(double q) {
  std::int64_t bits;
  std::memcpy(&bits, &q, sizeof(bits));
  return bits >> (52 - kSplit);
}

double start_of(std::int64_t number) {
  const std::int64_t bits = number << (52 - kSplit);
  double q;
  std::memcpy(&q, &bits, sizeof(q));
  return q;
}

// Σ c_k T_k(t) and its derivative, by Clenshaw's recurrence: monomials would lose four digits.
template <int N>
double chebyshev(const double (&c)[N], double t) {
  double b1 = 0, b2 = 0;
  for (int k = N - 1; k >= 1; --k) {
    const double b = c[k] + 2 * t * b1 - b2;
    b2 = b1;
    b1 = b;
  }
  return c[0] + t * b1 - b2;
}

template <int N>
double chebyshev_slope(const double (&c)[N], double t) {
  double b1 = 0, b2 = 0;
  for (int k = N - 1; k >= 1; --k) {  // T_k' = k U_(k-1)
    const double b = k * c[k] + 2 * t * b1 - b2;
    b2 = b1;
    b1 = b;
  }
  return b1;
}

// The polynomial through the values at the zeros of T_N.
template <int N>
struct Interpolation {
  Eigen::Matrix<double, N, 1> nodes;
  Eigen::Matrix<double, N, N> coefficients;  // from the values

  Interpolation() {
    for (int j = 0; j < N; ++j) {
      const double angle = EIGEN_PI * (j + 0.5) / N;
      nodes[j] = std::cos(angle);
      for (int k = 0; k < N; ++k) coefficients(k, j) = std::cos(k * angle) * (k == 0 ? 1.0 : 2.0) / N;
    }
  }
};

}  // namespace

MaternPoint matern_point(double nu, double q) {
  require(nu > 0 && std::isfinite(nu), "the smoothness of a Matérn kernel must be positive, got ", nu);
  if (!(q > 0)) return {0, 0};
  return integrate(nu, q, GammaRemainders(nu));
}

MaternTable::MaternTable(double nu) : nu_(nu) {
  const auto value = [&](std::int64_t number) { return matern_point(nu, start_of(number)).log_value; };
  const std::int64_t octave = std::int64_t(1) << kSplit;
  std::int64_t last = number_of(1.0);
  first_ = last;
  while (start_of(first_) > kLowest && value(first_) < -kOne) first_ -= octave;
  flat_ = value(first_) >= -kOne;
  while (value(last) > kNoValue && start_of(last) < 0x1p1000) last += octave;
  low_ = start_of(first_);
  high_ = start_of(last);
  pieces_.resize(static_cast<std::size_t>(last - first_));
  for (std::int64_t number = first_; number < last; ++number) {
    const double low = start_of(number);
    fill(pieces_[static_cast<std::size_t>(number - first_)], low, start_of(number + 1) - low);
  }
}

void MaternTable::fill(Piece& piece, double low, double width) const {
  static const Interpolation<kTerms> interpolation;
  const GammaRemainders gamma(nu_);
  Eigen::Matrix<double, kTerms, 1> values, by_nu;
  for (int j = 0; j < kTerms; ++j) {
    const MaternPoint point = integrate(nu_, low + 0.5 * width * (1 + interpolation.nodes[j]), gamma);
    values[j] = point.log_value;
    by_nu[j] = point.by_nu;
  }
  piece.low = low;
  piece.scale = 2 / width;
  Eigen::Map<Eigen::Matrix<double, kTerms, 1>>(piece.value) = interpolation.coefficients * values;
  Eigen::Map<Eigen::Matrix<double, kTerms, 1>>(piece.by_nu) = interpolation.coefficients * by_nu;
}

const MaternTable::Piece* MaternTable::find(double q) const {
  if (!(q >= low_ && q < high_)) return nullptr;
  return &pieces_[static_cast<std::size_t>(number_of(q) - first_)];
}

double MaternTable::log_value(double q) const {
  if (const Piece* const piece = find(q)) {
    return std::min(chebyshev(piece->value, (q - piece->low) * piece->scale - 1), 0.0);
  }
  if (q >= high_) return kNoValue;
  return flat_ ? 0 : matern_point(nu_, q).log_value;
}

MaternTable::Derivatives MaternTable::derivatives(double q) const {
  if (const Piece* const piece = find(q)) {
    const double t = (q - piece->low) * piece->scale - 1;
    return {chebyshev_slope(piece->value, t) * piece->scale, chebyshev(piece->by_nu, t)};
  }
  if (q >= high_ || flat_ || !(q > 0)) return {0, 0};
  const double h = 1e-3 * q;  // far below all distances that matter
  return {(matern_point(nu_, q + h).log_value - matern_point(nu_, q - h).log_value) / (2 * h),
          matern_point(nu_, q).by_nu};
}

std::shared_ptr<const MaternTable> matern_table(double nu) {
  static std::mutex mutex;
  static std::vector<std::shared_ptr<const MaternTable>> kept;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& table : kept)
      if (table->nu() == nu) return table;
  }
  auto table = std::make_shared<const MaternTable>(nu);
  const std::lock_guard<std::mutex> lock(mutex);
  if (kept.size() == kKept) kept.erase(kept.begin());
  kept.push_back(table);
  return table;
}

template <class S>
void matern_values(const MaternTable& table, double scale, S* x, Index n) {
  for (Index i = 0; i < n; ++i) x[i] = static_cast<S>(table.log_value(scale * static_cast<double>(x[i])));
  vmath::exp_scaled(x, n, S(1));
}

template void matern_values<double>(const MaternTable&, double, double*, Index);
template void matern_values<float>(const MaternTable&, double, float*, Index);

}  // namespace grls
