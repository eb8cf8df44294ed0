// The Matérn function of any smoothness ν > 0,
//   M_ν(s) = 2^(1-ν) / Γ(ν) s^ν K_ν(s),   q = s²/4,
// by its logarithm G(q) = log M_ν(2 √q), which is smooth on the scale of log q from M = 1 down to the
// smallest number there is. K_ν is not in every C++ library; M_ν is an integral of a function that is
// analytic in a strip and decays on both sides,
//   M_ν = 1/Γ(ν) ∫ exp(ν v - e^v - q e^-v) dv,
// of which the trapezoidal rule gives all digits with some fifty points, its derivative by ν as well.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.hpp"

namespace grls {

struct MaternPoint {
  double log_value;  // G, at most 0
  double by_nu;      // ∂G/∂ν at the same q
};
MaternPoint matern_point(double nu, double q);  // q >= 0

// G and ∂G/∂ν of one ν by polynomials, each for a quarter of an octave of q.
class MaternTable {
 public:
  explicit MaternTable(double nu);

  double nu() const { return nu_; }

  struct Derivatives {
    double by_q, by_nu;  // of G; zero at q = 0
  };
  double log_value(double q) const;
  Derivatives derivatives(double q) const;

 private:
  static constexpr int kTerms = 12;
  struct Piece {
    double low, scale;                    // t = (q - low) scale - 1 is in [-1, 1]
    double value[kTerms], by_nu[kTerms];  // coefficients of Chebyshev polynomials
  };
  const Piece* find(double q) const;  // null: below all pieces, or above where M is zero
  void fill(Piece& piece, double low, double width) const;

  double nu_;
  double low_ = 0, high_ = 0;  // what the pieces span
  bool flat_ = false;          // below all pieces M is one
  std::int64_t first_ = 0;     // of the numbers of the pieces
  std::vector<Piece> pieces_;
};

// The table of ν; the last few are kept.
std::shared_ptr<const MaternTable> matern_table(double nu);

// x (n) = M_ν(√x scaled so that q = scale x)
template <class S>
void matern_values(const MaternTable& table, double scale, S* x, Index n);

}  // namespace grls
