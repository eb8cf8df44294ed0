#include "least_squares/least_squares.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <type_traits>

#include "base/errors.hpp"
#include "least_squares/residual.hpp"
#include "matrices/factor.hpp"
#include "matrices/products.hpp"
#include "matrices/refine.hpp"

namespace grls {
namespace {

constexpr double kResidual = 1e-12;  // relative residual a refined solution must reach
constexpr double kSpan = 1e4;        // of weights: from here on their order matters to rounding
constexpr int kCorrections = 3;      // of a solution that misses its equations, with the factor at hand

// Relative residuals: a bound below `trusted` needs no look at the residual itself, and above `accepted`
// there is no solution.
struct Limits {
  double trusted, accepted;
};
template <class S>
constexpr Limits kLimits = std::is_same_v<S, double> ? Limits{1e-8, 1e-4} : Limits{0.1, 1e-2};

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

void check(const Problem& p) {
  const Index m = p.Y.rows();
  require(samples_of(p.gram) == m, "the kernel has ", samples_of(p.gram), " samples, the targets ", m);
  require(p.T.rows() == m, "the features have ", p.T.rows(), " rows, the targets ", m);
  require(p.weights.size() == 0 || p.weights.size() == m, "got ", p.weights.size(), " sample weights for ", m,
          " samples");
  require(p.weights.size() == 0 || p.weights.minCoeff() > 0, "sample weights must be positive here");
  require(p.shift >= 0, "the regularization must not be negative");
}

// What the solution needs of (MᵀΦM + shift) beyond the null space.
struct Reduced {
  Matrix<double> z;          // (n, k): (H + shift)⁻¹ NᵀY
  Matrix<double> r;          // (l, k): right-hand side of C β = r
  Matrix<double> schur;      // (l, l): Schur complement of the features
  Vector<double> quadratic;  // (k): yᵀN (H + shift)⁻¹ Nᵀy
};

// From the factor: the border holds (L⁻¹NᵀY)ᵀ over the pivots, and the Schur complement has the rest.
template <class S>
Reduced from_factor(const Context& context, const BlockTriangle<S>& A, Index m, Index k) {
  const Index n = A.pivots(), l = m - n;
  Reduced out;
  Matrix<S> forward = rows_of(A, m, m + k, n).transpose().template cast<S>();
  out.quadratic = forward.template cast<double>().colwise().squaredNorm();
  solve_transposed(context, A, forward);
  out.z = forward.template cast<double>();
  out.r = rows_of(A, m, m + k, m).rightCols(l).transpose();
  out.schur = symmetric_corner(A, n, m);
  return out;
}

// The same from conjugate gradients with the unfactorised A; nothing where they do not converge.
std::optional<Reduced> from_refinement(const Context& context, const BlockTriangle<double>& A,
                                       const Matrix<double>& B, int& iterations) {
  const Index n = A.pivots(), m = B.rows(), k = B.cols(), l = m - n;
  const Matrix<double> M21 = rows_of(A, n, m, n);
  Matrix<double> rhs(n, k + l);
  rhs << B.topRows(n), M21.transpose();
  // The Schur complement needs only a first approximation X of (H + shift)⁻¹M₁₂: written as
  // M₂₂ - M₂₁X - (M₂₁X)ᵀ + Xᵀ(H + shift)X its error is that of X squared.
  const auto refined = solve_refined(context, A, rhs, k, kResidual);
  if (!refined) return std::nullopt;
  iterations = refined->iterations;
  Reduced out;
  out.z = refined->X.leftCols(k);
  out.r = B.bottomRows(l) - product(M21, out.z);
  const Matrix<double> first = product(M21, refined->first.rightCols(l));
  out.schur = symmetric_corner(A, n, m) - first - first.transpose() +
              transposed_product(refined->first.rightCols(l), refined->image.rightCols(l));
  out.quadratic = (B.topRows(n).array() * out.z.array()).colwise().sum().transpose();
  return out;
}

// A large problem whose shift stands well above the rounding errors of a float32 factor.
bool mixed_pays(const BlockTriangle<double>& A, double shift) {
  constexpr Index kSmallest = 3000;
  if (A.pivots() < kSmallest) return false;
  double largest = 0;
  for (Index c = 0; c < A.pivots(); ++c) largest = std::max(largest, *A.column(c, c));
  return shift > 1e-4 * largest;
}

template <class S>
double trace_of(const BlockTriangle<S>& A) {
  double trace = 0;
  for (Index c = 0; c < A.pivots(); ++c) trace += static_cast<double>(*A.column(c, c));
  return trace;
}

// |A| |z| / |NᵀY| of the worst column, with the trace for the norm of A: a bound on how much rounding in A
// grows on its way to the residual. What is left of Y where the features explain all of it is rounding.
double condition(double trace, const Matrix<double>& B, const Reduced& reduced) {
  const Index n = reduced.z.rows();
  double worst = 0;
  for (Index p = 0; p < B.cols(); ++p) {
    const double size = std::max(B.col(p).head(n).norm(), 1e-9 * B.col(p).norm());
    if (size > 0) worst = std::max(worst, trace * reduced.z.col(p).norm() / size);
  }
  return worst;
}

// From z, the coordinates over the null space.
template <class S>
void store_answer(const Context& context, const Assembled<S>& assembled, const Reduced& reduced,
                  Solution& solution) {
  const Basis& basis = assembled.basis;
  const Index n = reduced.z.rows(), l = reduced.r.rows();
  Matrix<double> coordinates = Matrix<double>::Zero(n + l, reduced.z.cols());
  coordinates.topRows(n) = reduced.z;
  solution.quadratic = reduced.quadratic;
  solution.c = basis.restored(basis.times(coordinates));
  if (assembled.s.size() > 0) solution.c = assembled.s.asDiagonal() * solution.c;
  solution.beta = basis.feature_coefficients(reduced.r, &context);  // C β = r
#ifdef GRLS_BREAK_SIGN
  solution.beta = -solution.beta;  // a fault on purpose: see GRLS_BREAK in CMakeLists.txt
#endif
}

Matrix<double> feature_covariance(const Context& context, const Basis& basis, const Reduced& reduced) {
  const Matrix<double> half = basis.feature_coefficients(reduced.schur, &context);
  return basis.feature_coefficients(half.transpose(), &context);  // C⁻¹ (C⁻¹ S)ᵀ
}

// The residual of a solution in the coordinates of the basis, and its size relative to Y.
struct Missed {
  Matrix<double> B;  // (m, k): Mᵀ of what is missed
  double relative = 0;
};

template <class S>
Missed missed(const Context& context, const Problem& problem, const Assembled<S>& assembled,
              const Solution& solution) {
  Matrix<double> left = residuals(context, problem, assembled.basis, solution.c, solution.beta);
  if (assembled.s.size() > 0) left = assembled.s.asDiagonal() * left;
  Missed out;
  for (Index p = 0; p < left.cols(); ++p) {
    const double size =
        std::max(assembled.B.col(p).head(assembled.A->pivots()).norm(), 1e-9 * assembled.B.col(p).norm());
    const double share = left.col(p).norm() / (size > 0 ? size : 1);
    if (!(share <= out.relative)) out.relative = share;
  }
  out.B = assembled.basis.transposed_times(assembled.basis.ordered(left));
  return out;
}

// Measures the residual of a solution, and takes it off with the factor as long as that helps.
template <class S>
void correct(const Context& context, const Problem& problem, const Assembled<S>& assembled, Reduced& reduced,
             Solution& solution) {
  const BlockTriangle<S>& A = *assembled.A;
  const Index n = A.pivots(), m = assembled.B.rows();
  const Matrix<double> L21 = rows_of(A, n, m, n);
  Missed now = missed(context, problem, assembled, solution);
  solution.residual = now.relative;
  for (int step = 0; step < kCorrections && now.relative > kLimits<S>.trusted; ++step) {
    Eigen::RowVectorXd size = now.B.colwise().norm();
    for (double& value : size) value = value > 0 ? value : 1;
    Matrix<S> x = (now.B.topRows(n) * size.cwiseInverse().asDiagonal()).template cast<S>();
    solve_forward(context, A, x);
    Reduced next = reduced;
    next.r += now.B.bottomRows(m - n) - product(L21, x.template cast<double>() * size.asDiagonal());
    solve_transposed(context, A, x);
    next.z += x.template cast<double>() * size.asDiagonal();
    next.quadratic = (assembled.B.topRows(n).array() * next.z.array()).colwise().sum().transpose();
    Solution trial = solution;
    store_answer(context, assembled, next, trial);
    now = missed(context, problem, assembled, trial);
    if (!(now.relative < 0.5 * solution.residual)) return;
    trial.residual = now.relative;
    reduced = std::move(next);
    solution = std::move(trial);
  }
}

[[noreturn]] void refuse(double residual, double condition) {
  std::ostringstream message;
  message.precision(2);
  message << "its condition number is about " << condition << ", and the solution misses its equations by "
          << residual << " of the targets";
  throw NotPositiveDefinite(message.str());
}

template <class S>
Solution solve_in(const Context& context, const Problem& problem) {
  const Index m = problem.Y.rows(), k = problem.Y.cols();
  const Assembled<S> assembled = assemble_problem<S>(context, problem, has_wide_weights(problem));
  const Basis& basis = assembled.basis;
  const Matrix<double>& B = assembled.B;
  BlockTriangle<S>& A = *assembled.A;
  const Index n = A.pivots();
  Solution solution;
  solution.kept = basis.kept;
  solution.seconds.basis = assembled.basis_seconds;
  solution.seconds.gram = assembled.gram_seconds;
  solution.seconds.assemble = assembled.transform_seconds;

  Stopwatch watch;
  shift_diagonal(problem.shift, problem.formulation == Formulation::exact ? m : n, A);
  const double trace = trace_of(A);
  set_border(B, A);
  std::optional<Reduced> reduced;
  if constexpr (std::is_same_v<S, double>) {
    if (problem.precision == Precision::mixed ||
        (problem.precision == Precision::automatic && mixed_pays(A, problem.shift))) {
      reduced = from_refinement(context, A, B, solution.iterations);
      solution.precision = Precision::mixed;
      solution.seconds.factor = watch.lap();
    }
  }
  if (!reduced) {
    partial_llt(context, A);
    solution.seconds.factor += watch.lap();
    reduced = from_factor(context, A, m, k);
    solution.precision = std::is_same_v<S, double> ? Precision::float64 : Precision::float32;
  }

  store_answer(context, assembled, *reduced, solution);
  solution.residual = std::numeric_limits<S>::epsilon() * condition(trace, B, *reduced);
  if (!(solution.residual <= kLimits<S>.trusted)) {
    if (solution.precision == Precision::mixed) {
      Problem again = problem;
      again.precision = Precision::float64;
      return solve_in<S>(context, again);
    }
    correct(context, problem, assembled, *reduced, solution);
    if (!(solution.residual <= kLimits<S>.accepted)) refuse(solution.residual, condition(trace, B, *reduced));
  }
  solution.feature_covariance = feature_covariance(context, basis, *reduced);
  solution.seconds.solve = watch.lap();
  return solution;
}

}  // namespace

bool has_wide_weights(const Problem& problem) {
  const Vector<double>& w = problem.weights;
  return w.size() > 0 && w.maxCoeff() > kSpan * w.minCoeff();
}

template <class S>
Assembled<S> assemble_problem(const Context& context, const Problem& problem, bool sorted) {
  check(problem);
  const Index m = problem.Y.rows();
  Assembled<S> out;
  Stopwatch watch;
  out.s = problem.weights.array().sqrt();
  const bool weighted = out.s.size() > 0;
  const Matrix<double> T = weighted ? Matrix<double>(out.s.asDiagonal() * problem.T) : problem.T;
  const Matrix<double> Y = weighted ? Matrix<double>(out.s.asDiagonal() * problem.Y) : problem.Y;
  if (problem.formulation == Formulation::exact)
    out.basis = sorted ? sorted_orthonormal_basis(T, problem.tolerance, &context)
                       : orthonormal_basis(T, problem.tolerance, &context);
  else
    out.basis = pivot_basis(T, problem.pivots, problem.tolerance, &context);
  const Index n = m - out.basis.rank();
  require(n > 0, "the ", out.basis.rank(), " independent features interpolate all n_samples=", m,
          " samples: nothing is left for the kernel; give fewer features or more samples");
  out.B = out.basis.transposed_times(out.basis.ordered(Y));
  out.basis_seconds = watch.lap();

  out.A = std::make_unique<BlockTriangle<S>>(m + problem.Y.cols(), n);
  fill_gram(context, problem.gram, out.basis.order,
            weighted ? Vector<double>(out.basis.ordered(out.s)) : out.s, *out.A);
  out.gram_seconds = watch.lap();
  apply_basis(context, out.basis, *out.A);
  out.transform_seconds = watch.lap();
  return out;
}

template Assembled<double> assemble_problem<double>(const Context&, const Problem&, bool);
template Assembled<float> assemble_problem<float>(const Context&, const Problem&, bool);

Solution solve(const Context& context, const Problem& problem) {
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

double solve_bytes(Index order, Precision precision) {
  const double single = BlockTriangle<float>::bytes(order), twice = BlockTriangle<double>::bytes(order);
  if (precision == Precision::float32) return single;
  return precision == Precision::float64 ? twice : single + twice;
}

}  // namespace grls
