#include "least_squares.hpp"

#include <chrono>

#include "errors.hpp"
#include "factor.hpp"

namespace grls {
namespace {

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

}  // namespace

template <class S>
Solution solve(const Context& context, const Problem& problem) {
  check(problem);
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
  set_border(basis.transposed_times(basis.ordered(Y)), A);
  solution.seconds.assemble = watch.lap();

  partial_llt(context, A);
  solution.seconds.factor = watch.lap();

  // Border rows m … m+k-1 now hold (L⁻¹NᵀY)ᵀ and, over the last columns, the right-hand side of C β = r.
  Matrix<S> z(n, k);
  Matrix<double> r(m - n, k);
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j) && A.start(j) + q < m; ++q) {
      const Index column = A.start(j) + q;
      const S* const row = A.at(m, j) + q * A.ld(j);
      for (Index p = 0; p < k; ++p) {
        if (column < n) {
          z(column, p) = row[p];
        } else {
          r(column - n, p) = static_cast<double>(row[p]);
        }
      }
    }
  solve_transposed(context, A, z);
  Matrix<double> padded = Matrix<double>::Zero(m, k);
  padded.topRows(n) = z.template cast<double>();
  solution.c = basis.restored(basis.times(padded));
  if (weighted) solution.c = s.asDiagonal() * solution.c;
  solution.beta = basis.feature_coefficients(r);
  solution.seconds.solve = watch.lap();
  return solution;
}

template Solution solve<double>(const Context&, const Problem&);
template Solution solve<float>(const Context&, const Problem&);

Matrix<double> assemble_reduced(const Context& context, const GivenGram& gram, const Basis& basis) {
  const Index m = gram.m, n = m - basis.rank();
  BlockTriangle<double> A(m, n);
  fill_gram<double>(context, gram, basis.order, Vector<double>(), A);
  apply_basis(context, basis, A);
  return to_dense(A, n);
}

}  // namespace grls
