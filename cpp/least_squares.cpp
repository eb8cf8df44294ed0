#include "least_squares.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>

#include "errors.hpp"
#include "factor.hpp"
#include "refine.hpp"

namespace grls {
namespace {

constexpr double kResidual = 1e-12;  // relative residual a refined solution must reach

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

template <class S>
void fill(const Context& context, const GramSource& source, const Basis& basis, const Vector<double>& s,
          BlockTriangle<S>& A) {
  if (const auto* kernel = std::get_if<KernelOfRows>(&source)) {
    fill_gram<S>(context, KernelTiles<S>(kernel->formula, kernel->rows, basis.order), s, A);
  } else {
    fill_gram<S>(context, std::get<GivenGram>(source), basis.order, s, A);
  }
}

Index samples_of(const GramSource& source) {
  if (const auto* kernel = std::get_if<KernelOfRows>(&source)) return row_count(kernel->rows);
  return std::get<GivenGram>(source).m;
}

void check(const Problem& p) {
  const Index m = p.Y.rows();
  require(samples_of(p.gram) == m, "the kernel has ", samples_of(p.gram), " samples, the targets ", m);
  require(p.T.rows() == m, "the features have ", p.T.rows(), " rows, the targets ", m);
  require(p.weights.size() == 0 || p.weights.size() == m, "got ", p.weights.size(), " sample weights for ", m,
          " samples");
  require(p.weights.size() == 0 || p.weights.minCoeff() > 0, "sample weights must be positive here");
  require(p.shift >= 0, "the regularization must not be negative");
}

// What the border holds after the factorisation: (L⁻¹NᵀY)ᵀ over the pivots, and over the last columns the
// right-hand side of C β = r.
template <class S>
void read_border(const BlockTriangle<S>& A, Index m, Matrix<S>& z, Matrix<double>& r) {
  const Index n = A.pivots();
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j) && A.start(j) + q < m; ++q) {
      const Index column = A.start(j) + q;
      const S* const row = A.at(m, j) + q * A.ld(j);
      for (Index p = 0; p < z.cols(); ++p) {
        if (column < n) {
          z(column, p) = row[p];
        } else {
          r(column - n, p) = static_cast<double>(row[p]);
        }
      }
    }
}

// A large problem whose shift stands well above the rounding errors of a float32 factor.
bool mixed_pays(const BlockTriangle<double>& A, double shift) {
  constexpr Index kSmallest = 3000;
  if (A.pivots() < kSmallest) return false;
  double largest = 0;
  for (Index c = 0; c < A.pivots(); ++c) largest = std::max(largest, *A.column(c, c));
  return shift > 1e-4 * largest;
}

Matrix<double> padded(const Matrix<double>& z, Index m) {
  Matrix<double> out = Matrix<double>::Zero(m, z.cols());
  out.topRows(z.rows()) = z;
  return out;
}

template <class S>
Solution solve_in(const Context& context, const Problem& problem) {
  const Index m = problem.Y.rows(), k = problem.Y.cols();
  Solution solution;
  Stopwatch watch;

  const Vector<double> s = problem.weights.array().sqrt();
  const bool weighted = s.size() > 0;
  const Matrix<double> T = weighted ? Matrix<double>(s.asDiagonal() * problem.T) : problem.T;
  const Matrix<double> Y = weighted ? Matrix<double>(s.asDiagonal() * problem.Y) : problem.Y;
  const Basis basis = problem.formulation == Formulation::exact
                          ? orthonormal_basis(T, problem.tolerance)
                          : pivot_basis(T, problem.pivots, problem.tolerance);
  const Index n = m - basis.rank();
  require(n > 0, "the ", basis.rank(), " independent features interpolate all n_samples=", m,
          " samples: nothing is left for the kernel; give fewer features or more samples");
  solution.kept = basis.kept;
  solution.seconds.basis = watch.lap();

  BlockTriangle<S> A(m + k, n);
  fill(context, problem.gram, basis, weighted ? Vector<double>(basis.ordered(s)) : s, A);
  solution.seconds.gram = watch.lap();

  apply_basis(context, basis, A);
  shift_diagonal(problem.shift, problem.formulation == Formulation::exact ? m : n, A);
  const Matrix<double> B = basis.transposed_times(basis.ordered(Y));
  set_border(B, A);
  solution.seconds.assemble = watch.lap();

  Matrix<double> z, r(m - n, k);
  std::optional<Refined> refined;
  if constexpr (std::is_same_v<S, double>) {
    if (problem.precision == Precision::mixed ||
        (problem.precision == Precision::automatic && mixed_pays(A, problem.shift)))
      refined = solve_refined(context, A, B.topRows(n), kResidual);
    if (refined) {
      z = refined->X;
      r = B.bottomRows(m - n) - symmetric_times(context, A, 0, m, padded(z, m)).bottomRows(m - n);
      solution.precision = Precision::mixed;
      solution.iterations = refined->iterations;
      solution.seconds.factor = watch.lap();
    }
  }
  if (!refined) {
    partial_llt(context, A);
    solution.seconds.factor = watch.lap();
    Matrix<S> forward(n, k);
    read_border(A, m, forward, r);
    solve_transposed(context, A, forward);
    z = forward.template cast<double>();
    solution.precision = std::is_same_v<S, double> ? Precision::float64 : Precision::float32;
  }

  solution.c = basis.restored(basis.times(padded(z, m)));
  if (weighted) solution.c = s.asDiagonal() * solution.c;
  solution.beta = basis.feature_coefficients(r);
  solution.seconds.solve = watch.lap();
  return solution;
}

}  // namespace

Solution solve(const Context& context, const Problem& problem) {
  check(problem);
  return problem.precision == Precision::float32 ? solve_in<float>(context, problem)
                                                 : solve_in<double>(context, problem);
}

Matrix<double> assemble_reduced(const Context& context, const GivenGram& gram, const Basis& basis) {
  const Index m = gram.m, n = m - basis.rank();
  BlockTriangle<double> A(m, n);
  fill_gram<double>(context, gram, basis.order, Vector<double>(), A);
  apply_basis(context, basis, A);
  return to_dense(A, n);
}

}  // namespace grls
