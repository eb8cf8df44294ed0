#include "terms.hpp"

#include <cmath>

#include "errors.hpp"
#include "vmath.hpp"

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

#define GRLS_INSTANTIATE(S)                            \
  template void apply_term<S>(const Step&, S*, Index); \
  template void apply_combination<S>(const Step&, S*, const S*, Index);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls
