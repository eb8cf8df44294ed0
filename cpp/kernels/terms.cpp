#include "kernels/terms.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "base/vmath.hpp"
#include "data/coordinates.hpp"

namespace grls {
namespace {

// The sign that makes r^degree (log r) conditionally positive definite.
double polyharmonic_sign(int degree) {
  const int flips = degree / 2 + 1;  // ⌈degree / 2⌉ of an odd one
  return flips % 2 == 0 ? 1 : -1;
}

template <class S>
S whole_power(S base, int degree) {
  S result = 1;
  for (int e = 0; e < degree; ++e) result *= base;
  return result;
}

}  // namespace

Quantity quantity(Term term) {
  switch (term) {
    case Term::constant:
      return Quantity::none;
    case Term::linear:
    case Term::polynomial:
    case Term::sigmoid:
      return Quantity::products;
    case Term::gaussian:
    case Term::laplace:
    case Term::matern:
    case Term::rational_quadratic:
    case Term::log:
    case Term::multiquadric:
    case Term::polyharmonic:
    case Term::matern_nu:
    case Term::spherical:
    case Term::wendland:
      return Quantity::distances;
    case Term::chi_squared:
      return Quantity::chi_squared;
    case Term::laplace_l1:
      return Quantity::manhattan;
    case Term::overlap:
    case Term::hamming:
      return Quantity::mismatches;
  }
  return Quantity::none;
}

int operands(Combine combine) { return combine == Combine::sum || combine == Combine::product ? 2 : 1; }

void Step::check() const {
  require(degree >= 0, "kernel exponents must not be negative, got ", degree);
  if (!is_term) {
    require(combine != Combine::series || !coefficients.empty(), "a power series needs coefficients");
    require(combine != Combine::arc_cosine || degree <= 2, "an arc-cosine step has degree 0, 1 or 2, got ",
            degree);
    return;
  }
  switch (term) {
    case Term::matern:
      require(degree == 3 || degree == 5, "a Matérn term has degree 3 or 5, got ", degree);
      [[fallthrough]];
    case Term::gaussian:
    case Term::laplace:
    case Term::multiquadric:
    case Term::laplace_l1:
    case Term::spherical:
    case Term::hamming:
      check_width(a);
      break;
    case Term::matern_nu:
      require(b >= 1e-8 && b <= 1e12,
              "the smoothness of a Matérn kernel must lie between 1e-8 and 1e12, got ", b,
              ": below, the kernel is noise; above, use a Gaussian");
      check_width(a);
      break;
    case Term::rational_quadratic: {
      require(b > 0, "kernel exponents must be positive, got ", b);
      check_width(a);
      const double scale = 0.5 / (b * a * a);
      require(std::isfinite(scale) && scale > 0, "the exponent ", b, " is beyond what a kernel of width ", a,
              " can have");
      break;
    }
    case Term::log:
      require(a > 0 && a <= 2, "the exponent of a log term must lie in (0, 2], got ", a);
      break;
    case Term::polyharmonic:
      require(degree >= 1, "a polyharmonic term has degree 1 or more, got ", degree);
      break;
    case Term::wendland:
      check_width(a);
      require(degree <= 3 && b >= 1 && b <= 1e6,
              "a Wendland term has degree 0 to 3 and an exponent from 1 on, got ", degree, " and ", b);
      break;
    case Term::overlap:
      require(a > 0, "the share of a column must be positive, got ", a);
      break;
    default:
      break;
  }
}

namespace {

// Wendland's functions (1 - h)^(l + k) p(h) for degrees k, the polynomial p scaled to p(0) = 1; that of a
// degree below 3 has zeros in the place of its higher coefficients.
struct Wendland {
  int exponent;
  double p[4];

  Wendland(double l, int degree) : exponent(static_cast<int>(l) + degree), p{1, 0, 0, 0} {
    if (degree == 1) p[1] = l + 1;
    if (degree == 2) {
      p[1] = l + 2;
      p[2] = (l + 1) * (l + 3) / 3;
    }
    if (degree == 3) {
      p[1] = l + 3;
      p[2] = (2 * l * l + 12 * l + 15) / 5;
      p[3] = (l + 1) * (l + 3) * (l + 5) / 15;
    }
  }
};

}  // namespace

template <class S>
void apply_term(const Step& step, S* x, Index n) {
  const S a = static_cast<S>(step.a), b = static_cast<S>(step.b);
  switch (step.term) {
    case Term::constant:
      return vmath::fill(x, n, a);
    case Term::linear:
      return;
    case Term::polynomial:
      vmath::shift(x, n, a);
      return vmath::power(x, n, step.degree);
    case Term::sigmoid:
      return vmath::tanh_affine(x, n, a, b);
    case Term::gaussian:
      return vmath::exp_scaled(x, n, static_cast<S>(-0.5 / (step.a * step.a)));
    case Term::laplace:
      return vmath::exp_scaled_sqrt(x, n, static_cast<S>(-1 / step.a));
    case Term::matern:
      return step.degree == 3 ? vmath::matern3(x, n, static_cast<S>(std::sqrt(3.0) / step.a))
                              : vmath::matern5(x, n, static_cast<S>(std::sqrt(5.0) / step.a));
    case Term::rational_quadratic:
      return vmath::rational(x, n, static_cast<S>(0.5 / (step.b * step.a * step.a)), b);
    case Term::log:
      return vmath::log_kernel(x, n, a / 2);
    case Term::multiquadric:
      return vmath::multiquadric(x, n, static_cast<S>(1 / (step.a * step.a)));
    case Term::polyharmonic: {
      const auto sign = static_cast<S>(polyharmonic_sign(step.degree));
      // log r is half of log r²
      return step.degree % 2 == 1 ? vmath::sqrt_power(x, n, step.degree / 2, sign)
                                  : vmath::power_log(x, n, step.degree / 2, sign / 2);
    }
    case Term::chi_squared:
      return vmath::exp_scaled(x, n, -a);
    case Term::laplace_l1:
    case Term::hamming:
      return vmath::exp_scaled(x, n, static_cast<S>(-1 / step.a));
    case Term::matern_nu:
      return matern_values(step.table ? *step.table : *matern_table(step.b), 0.5 * step.b / (step.a * step.a),
                           x, n);
    case Term::spherical:
      return vmath::spherical(x, n, static_cast<S>(1 / step.a));
    case Term::wendland: {
      const Wendland w(step.b, step.degree);
      return vmath::wendland(x, n, static_cast<S>(1 / step.a), w.exponent, w.p);
    }
    case Term::overlap:
      vmath::scale(x, n, -a);
      return vmath::shift(x, n, S(1));
  }
}

template <class S>
void apply_combination(const Step& step, S* x, const S* y, Index n) {
  switch (step.combine) {
    case Combine::sum:
      return vmath::add(x, y, n);
    case Combine::product:
      return vmath::multiply(x, y, n);
    case Combine::scale:
      return vmath::scale(x, n, static_cast<S>(step.a));
    case Combine::power:
      return vmath::power(x, n, step.degree);
    case Combine::exponential:
      return vmath::exp_scaled(x, n, S(1));
    case Combine::series:
      return vmath::series(x, n, step.coefficients.data(), static_cast<Index>(step.coefficients.size()));
    case Combine::normalize:
    case Combine::arc_cosine:
      return;
  }
}

namespace {

// J_n(c) / π and its derivative by c = cos θ, for c between -1 and 1:
// J_0 = π - θ, J_1 = sin θ + (π - θ) cos θ, J_2 = 3 sin θ cos θ + (π - θ)(1 + 2 cos² θ).
// Inner products know the angle of nearly parallel points to half of their digits only: there it is zero.
template <class S>
struct ArcCosine {
  S value, slope;

  ArcCosine(int n, S c) {
    constexpr S kParallel = 8 * std::numeric_limits<S>::epsilon();
    const bool parallel = c > 1 - kParallel;
    c = parallel ? S(1) : std::max(c, S(-1));
    const S angle = parallel ? S(0) : std::acos(c), sine = std::sqrt((1 - c) * (1 + c));
    const S share = 1 - angle / S(EIGEN_PI), height = sine / S(EIGEN_PI);
    const S first = height + share * c;
    value = n == 0 ? share : n == 1 ? first : 3 * height * c + share * (1 + 2 * c * c);
    slope = n == 0 ? (sine > 0 ? 1 / (S(EIGEN_PI) * sine) : S(0)) : n == 1 ? share : 4 * first;
  }
};

}  // namespace

template <class S>
void apply_on_diagonal(const Step& step, S* x, const S* roots, S root, Index n) {
  if (step.combine == Combine::normalize) return vmath::multiply_scaled(x, roots, n, root);
  for (Index i = 0; i < n; ++i) {
    const S r = roots[i] * root;
    x[i] = r > 0 ? ArcCosine<S>(step.degree, x[i] * r).value / whole_power(r, step.degree) : S(0);
  }
}

double on_own_diagonal(const Step& step, double k) {
  if (step.combine == Combine::normalize) return k > 0 ? 1 : 0;
  return k > 0 ? (step.degree == 2 ? 3 : 1) * whole_power(k, step.degree) : 0;
}

double slope_on_own_diagonal(const Step& step, double k) {
  if (step.combine == Combine::normalize || step.degree == 0) return 0;
  return step.degree == 2 ? 6 * k : 1;
}

// Plain expressions suffice from here on: they cost m² operations where the matrices of a gradient cost m³.

namespace {

using Array = Eigen::Array<double, Eigen::Dynamic, 1>;
using View = Eigen::Map<const Array>;

// ∂/∂h² of Wendland's function: φ_k' is a multiple of h φ_(k-1) with the same l; infinite at zero for k = 0.
Array wendland_slope(const Step& step, const Array& h) {
  const double l = step.b;
  const Array rest = (1 - h).max(0.0);
  if (step.degree == 0) return (h > 0).select(-0.5 * l * rest.pow(l - 1) * (h < 1).cast<double>() / h, 0.0);
  const double k = step.degree;
  const Wendland lower(l, step.degree - 1);
  const Array polynomial = lower.p[0] + h * (lower.p[1] + h * (lower.p[2] + h * lower.p[3]));
  return -0.5 * (l + 2 * k - 1) * (l + 2 * k) / (2 * k - 1) * rest.pow(lower.exponent) * polynomial;
}

// ∂value/∂x of a term of x / a² where x = r², and of x / a where x is a sum of absolute values.
Array slope_of(const Step& step, const View& x, const View& value) {
  const double a2 = step.a * step.a;
  switch (step.term) {
    case Term::gaussian:
      return value * (-0.5 / a2);
    case Term::laplace:  // infinite at r = 0, where nothing that has a width depends on it
      return (x > 0).select(value * (-0.5 / step.a) / x.sqrt(), 0.0);
    case Term::matern: {
      const Array s = (x * (step.degree / a2)).sqrt().min(1e3);  // beyond, the value is zero
      if (step.degree == 3) return value / (1 + s) * (-1.5 / a2);
      return value * (1 + s) / (1 + s + s.square() / 3) * (-2.5 / (3 * a2));
    }
    case Term::rational_quadratic:
      return value / (1 + x * (0.5 / (step.b * a2))) * (-0.5 / a2);
    case Term::multiquadric:
      return (0.5 / a2) / value;
    case Term::laplace_l1:
    case Term::hamming:
      return value * (-1 / step.a);
    case Term::spherical: {  // infinite at r = 0 too
      const Array h = x.sqrt() / step.a;
      return (h > 0 && h < 1).select(-0.75 / a2 * (1 - h.square()) / h, 0.0);
    }
    case Term::wendland:
      return wendland_slope(step, x.sqrt() / step.a) / a2;
    default:
      return Array::Zero(x.size());
  }
}

}  // namespace

TermGradient differentiate_term(const Step& step, const double* x_data, const double* value_data,
                                const double* weight_data, Index n, double* slope) {
  const View x(x_data, n), value(value_data, n), weight(weight_data, n);
  TermGradient out;
  switch (step.term) {
    case Term::constant:
      out.a = weight.sum();
      break;
    case Term::polynomial:
      if (step.degree > 0) out.a = (weight * step.degree * (x + step.a).pow(step.degree - 1)).sum();
      break;
    case Term::log: {  // u = r^a: -u log(r) / (1 + u)
      const Array u = (-value).exp() - 1;
      out.a = (x > 0).select(-weight * u / (1 + u) * 0.5 * x.max(1e-300).log(), 0.0).sum();
      break;
    }
    case Term::chi_squared:
      out.a = -(weight * x * value).sum();
      break;
    case Term::rational_quadratic: {
      const Array u = x * (0.5 / (step.b * step.a * step.a));
      out.b = (weight * value * (u / (1 + u) - u.log1p())).sum();
      [[fallthrough]];
    }
    case Term::gaussian:
    case Term::laplace:
    case Term::matern:
    case Term::multiquadric:
    case Term::spherical:
    case Term::wendland:
    case Term::laplace_l1:
    case Term::hamming: {  // of r² / a²: a ∂/∂a = -2 r² ∂/∂r²; of x / a half of it
      const Array weighted = weight * slope_of(step, x, value);
      const double power = quantity(step.term) == Quantity::distances ? 2 : 1;
      out.a = (weighted * x).sum() * (-power / step.a);
      if (slope) Eigen::Map<Array>(slope, n) = weighted;
      break;
    }
    case Term::matern_nu: {  // q = b r² / (2 a²)
      const MaternTable& table = *step.table;
      const double scale = 0.5 * step.b / (step.a * step.a);
      Array by_x(n), by_b(n);
      for (Index i = 0; i < n; ++i) {
        const MaternTable::Derivatives d = table.derivatives(scale * x[i]);
        by_x[i] = scale * d.by_q;
        by_b[i] = d.by_nu + d.by_q * scale * x[i] / step.b;
      }
      const Array weighted = weight * value;
      out.a = (weighted * by_x * x).sum() * (-2 / step.a);
      out.b = (weighted * by_b).sum();
      if (slope) Eigen::Map<Array>(slope, n) = weighted * by_x;
      break;
    }
    case Term::overlap:
    case Term::linear:
    case Term::sigmoid:
    case Term::polyharmonic:
      break;
  }
  return out;
}

void slope_by_quantity(const Step& step, const double* x_data, const double* value_data, Index n,
                       double* slope_data) {
  const View x(x_data, n), value(value_data, n);
  Eigen::Map<Array> slope(slope_data, n);
  switch (step.term) {
    case Term::linear:
      slope.setOnes();
      return;
    case Term::polynomial:
      if (step.degree == 0) {
        slope.setZero();
      } else {
        slope = step.degree * (x + step.a).pow(step.degree - 1);
      }
      return;
    case Term::sigmoid:
      slope = step.a * (1 - value.square());
      return;
    case Term::log: {  // u = r^a
      const Array u = x.pow(step.a / 2);
      slope = (x > 0).select(-0.5 * step.a * u / (x * (1 + u)), 0.0);
      return;
    }
    case Term::polyharmonic: {  // half the degree is the power of x = r², log r half of log x
      const double half = 0.5 * step.degree, sign = polyharmonic_sign(step.degree);
      const Array power = sign * x.pow(half - 1);
      slope = step.degree % 2 == 1
                  ? Array((x > 0).select(half * power, 0.0))
                  : Array((x > 0).select(power * 0.5 * (half * x.max(1e-300).log() + 1), 0.0));
      return;
    }
    case Term::chi_squared:
      slope = -step.a * value;
      return;
    case Term::matern_nu: {  // q = b r² / (2 a²), and the table has the logarithm
      const double scale = 0.5 * step.b / (step.a * step.a);
      for (Index i = 0; i < n; ++i)
        slope[i] = x[i] > 0 ? value[i] * scale * step.table->derivatives(scale * x[i]).by_q : 0.0;
      return;
    }
    default:
      slope = slope_of(step, x, value);
  }
}

double differentiate_combination(const Step& step, const double* x_data, const double* value_data,
                                 const double* weight_data, Index n, double* back_data,
                                 double* coefficients) {
  const View x(x_data, n), value(value_data, n), weight(weight_data, n);
  Eigen::Map<Array> back(back_data, n);
  switch (step.combine) {
    case Combine::scale:
      back = step.a * weight;
      return (weight * x).sum();
    case Combine::power:
      if (step.degree == 0) {  // 0 · 0⁻¹ is no number
        back.setZero();
      } else {
        back = weight * step.degree * x.pow(step.degree - 1);
      }
      return 0;
    case Combine::exponential:
      back = weight * value;
      return 0;
    case Combine::series: {
      Array power = Array::Ones(n), sum = Array::Zero(n);
      for (std::size_t p = 0; p < step.coefficients.size(); ++p) {
        if (coefficients) coefficients[p] += (weight * power).sum();
        if (p + 1 < step.coefficients.size())
          sum += static_cast<double>(p + 1) * step.coefficients[p + 1] * power;
        power *= x;
      }
      back = weight * sum;
      return 0;
    }
    case Combine::sum:
    case Combine::product:
    case Combine::normalize:
    case Combine::arc_cosine:
      break;
  }
  return 0;
}

void differentiate_on_diagonal(const Step& step, const double* k, const double* value, const double* roots,
                               double root, const double* weight, Index n, double* back, double* share) {
  for (Index i = 0; i < n; ++i) {
    const double r = roots[i] * root;
    if (step.combine == Combine::normalize) {  // value = k r, r of degree -1/2 in each of k(x, x), k(z, z)
      back[i] = weight[i] * r;
      share[i] = weight[i] * value[i];
      continue;
    }
    // value = r^-n J_n(k r)
    const double slope =
        r > 0 ? ArcCosine<double>(step.degree, k[i] * r).slope * r / whole_power(r, step.degree) : 0;
    back[i] = weight[i] * slope;
    share[i] = weight[i] * (slope * k[i] - step.degree * value[i]);
  }
}

#define GRLS_INSTANTIATE(S)                                                \
  template void apply_term<S>(const Step&, S*, Index);                     \
  template void apply_on_diagonal<S>(const Step&, S*, const S*, S, Index); \
  template void apply_combination<S>(const Step&, S*, const S*, Index);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls
