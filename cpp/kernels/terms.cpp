#include "kernels/terms.hpp"

#include <Eigen/Core>
#include <cmath>

#include "base/errors.hpp"
#include "base/vmath.hpp"

namespace grls {
namespace {

// The sign that makes r^degree (log r) conditionally positive definite.
double polyharmonic_sign(int degree) {
  const int flips = degree % 2 == 1 ? (degree + 1) / 2 : degree / 2 + 1;
  return flips % 2 == 0 ? 1 : -1;
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
      return Quantity::distances;
    case Term::chi_squared:
      return Quantity::chi_squared;
  }
  return Quantity::none;
}

int operands(Combine combine) { return combine == Combine::sum || combine == Combine::product ? 2 : 1; }

void Step::check() const {
  require(degree >= 0, "kernel exponents must not be negative, got ", degree);
  if (!is_term) {
    require(combine != Combine::series || !coefficients.empty(), "a power series needs coefficients");
    return;
  }
  switch (term) {
    case Term::matern:
      require(degree == 3 || degree == 5, "a Matérn term has degree 3 or 5, got ", degree);
      [[fallthrough]];
    case Term::gaussian:
    case Term::laplace:
    case Term::multiquadric:
      require(a > 0, "kernel widths must be positive, got ", a);
      break;
    case Term::rational_quadratic:
      require(a > 0 && b > 0, "kernel widths and exponents must be positive, got ", a, " and ", b);
      break;
    case Term::log:
      require(a > 0 && a <= 2, "the exponent of a log term must lie in (0, 2], got ", a);
      break;
    case Term::polyharmonic:
      require(degree >= 1, "a polyharmonic term has degree 1 or more, got ", degree);
      break;
    default:
      break;
  }
}

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
      return;
  }
}

// Plain expressions suffice from here on: they cost m² operations where the matrices of a gradient cost m³.

namespace {

using Array = Eigen::Array<double, Eigen::Dynamic, 1>;
using View = Eigen::Map<const Array>;

// ∂value/∂r² of a term of r² / a².
Array slope_of(const Step& step, const View& x, const View& value) {
  const double a2 = step.a * step.a;
  switch (step.term) {
    case Term::gaussian:
      return value * (-0.5 / a2);
    case Term::laplace:  // infinite at r = 0, where nothing that has a width depends on it
      return (x > 0).select(value * (-0.5 / step.a) / x.sqrt(), 0.0);
    case Term::matern: {
      const Array s = (x * (step.degree / a2)).sqrt();
      if (step.degree == 3) return value / (1 + s) * (-1.5 / a2);
      return value * (1 + s) / (1 + s + s.square() / 3) * (-2.5 / (3 * a2));
    }
    case Term::rational_quadratic:
      return value / (1 + x * (0.5 / (step.b * a2))) * (-0.5 / a2);
    case Term::multiquadric:
      return (0.5 / a2) / value;
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
      out.a = (weight * step.degree * (x + step.a).pow(step.degree - 1)).sum();
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
    case Term::multiquadric: {  // of r² / a²: a ∂/∂a = -2 r² ∂/∂r²
      const Array weighted = weight * slope_of(step, x, value);
      out.a = (weighted * x).sum() * (-2 / step.a);
      if (slope) Eigen::Map<Array>(slope, n) = weighted;
      break;
    }
    case Term::linear:
    case Term::sigmoid:
    case Term::polyharmonic:
      break;
  }
  return out;
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
      back = weight * step.degree * x.pow(step.degree - 1);
      return 0;
    case Combine::exponential:
      back = weight * value;
      return 0;
    case Combine::series: {
      Array power = Array::Ones(n), sum = Array::Zero(n);
      for (std::size_t p = 0; p < step.coefficients.size(); ++p) {
        coefficients[p] += (weight * power).sum();
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
      break;
  }
  return 0;
}

#define GRLS_INSTANTIATE(S)                            \
  template void apply_term<S>(const Step&, S*, Index); \
  template void apply_combination<S>(const Step&, S*, const S*, Index);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls
