// The partial factorisation of a bordered matrix against Eigen's.
#include "matrices/factor.hpp"

#include <Eigen/Dense>
#include <random>

#include "base/errors.hpp"
#include "check.hpp"
#include "matrices/assemble.hpp"
#include "matrices/symmetric.hpp"

using namespace grls;

namespace {

Matrix<double> definite(Index n, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  const Matrix<double> X = Matrix<double>::NullaryExpr(n, n + 5, [&] { return normal(bits); });
  return X * X.transpose() / static_cast<double>(n) + Matrix<double>::Identity(n, n);
}

template <class S>
void fill(const Matrix<double>& from, BlockTriangle<S>& A) {
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j); ++q)
      for (Index i = A.start(j) + q; i < A.order(); ++i)
        A.at(i, j)[q * A.ld(j)] = static_cast<S>(from(i, A.start(j) + q));
}

template <class S>
Matrix<double> lower(const BlockTriangle<S>& A) {
  Matrix<double> out = Matrix<double>::Zero(A.order(), A.order());
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j); ++q)
      for (Index i = A.start(j) + q; i < A.order(); ++i)
        out(i, A.start(j) + q) = static_cast<double>(A.at(i, j)[q * A.ld(j)]);
  return out;
}

// [L · ; A₂₁L⁻ᵀ  A₂₂ - A₂₁A₁₁⁻¹A₂₁ᵀ], its lower triangle
Matrix<double> expected(const Matrix<double>& A, Index pivots) {
  const Index rest = A.rows() - pivots;
  const Eigen::LLT<Matrix<double>> llt(Matrix<double>(A.topLeftCorner(pivots, pivots)));
  Matrix<double> out = Matrix<double>::Zero(A.rows(), A.rows());
  out.topLeftCorner(pivots, pivots) = llt.matrixL();
  const Matrix<double> across = llt.matrixL().solve(A.topRightCorner(pivots, rest));
  out.bottomLeftCorner(rest, pivots) = across.transpose();
  out.bottomRightCorner(rest, rest) = A.bottomRightCorner(rest, rest) - across.transpose() * across;
  return Matrix<double>(out.triangularView<Eigen::Lower>());
}

template <class S>
void check_factor(Index order, Index pivots, double tolerance) {
  const Matrix<double> A = definite(order, static_cast<unsigned>(order));
  BlockTriangle<S> L(order, pivots);
  fill(A, L);
  partial_llt(Context(3), L);
  const Matrix<double> wanted = expected(A, pivots);
  const std::string where = std::to_string(order) + ", " + std::to_string(pivots);
  CHECK_IN(where, (lower(L) - wanted).cwiseAbs().maxCoeff() < tolerance);

  Matrix<S> X = Matrix<S>::Ones(pivots, 3);
  solve_forward(Context(2), L, X);
  solve_transposed(Context(2), L, X);
  const Matrix<double> image = A.topLeftCorner(pivots, pivots) * X.template cast<double>();
  CHECK_IN(where, (image.array() - 1).abs().maxCoeff() < 100 * tolerance);
}

}  // namespace

TEST(factor, a_partial_factorisation_is_that_of_eigen) {
  const std::vector<std::pair<Index, Index>> shapes = {
      {1, 1}, {5, 3}, {64, 64}, {65, 65}, {70, 64}, {129, 100}, {200, 197}, {577, 576}, {700, 513}};
  for (const auto& [order, pivots] : shapes) {
    check_factor<double>(order, pivots, 1e-11);
    check_factor<float>(order, pivots, 1e-3);
  }
}

TEST(factor, forward_substitution_takes_the_border_along) {
  for (const auto& [order, pivots] : {std::pair<Index, Index>{70, 64}, {700, 513}, {700, 700}})
    for (const Index k : {1, 4, 5, 40}) {
      const Matrix<double> A = definite(order, 9);
      BlockTriangle<double> L(order, pivots);
      fill(A, L);
      partial_llt(Context(2), L);
      const Matrix<double> factor = lower(L).leftCols(pivots);
      const Matrix<double> X = Matrix<double>::Random(order, k);
      Matrix<double> wanted = X;
      factor.topRows(pivots).triangularView<Eigen::Lower>().solveInPlace(wanted.topRows(pivots));
      wanted.bottomRows(order - pivots) -= factor.bottomRows(order - pivots) * wanted.topRows(pivots);
      Matrix<double> together = X, alone = X;
      solve_forward(Context(3), L, together);
      const Context context(1);
      parallel_for(context, 1, 1, [&](Index, const Worker& worker) {
        CHECK(solve_forward(context, worker, L, order, alone.data(), k, order));
      });
      CHECK((together - wanted).cwiseAbs().maxCoeff() < 1e-11);
      CHECK((alone - wanted).cwiseAbs().maxCoeff() < 1e-11);
    }
}

TEST(factor, the_digits_do_not_depend_on_the_threads) {
  const Matrix<double> A = definite(700, 3);
  Matrix<double> alone;
  for (const int threads : {1, 2, 5}) {
    BlockTriangle<double> L(700, 690);
    fill(A, L);
    partial_llt(Context(threads), L);
    if (threads == 1) alone = lower(L);
    CHECK(lower(L) == alone);
  }
}

TEST(factor, the_inverse_times_the_matrix_is_the_identity) {
  for (const Index n : {1, 65, 300}) {
    const Matrix<double> A = definite(n, 4);
    BlockTriangle<double> L(n, n);
    fill(A, L);
    partial_llt(Context(2), L);
    invert(Context(2), L);
    const Matrix<double> half = lower(L);
    const Matrix<double> inverse = half.selfadjointView<Eigen::Lower>();
    CHECK((inverse * A - Matrix<double>::Identity(n, n)).norm() < 1e-9);
  }
}

TEST(factor, a_matrix_that_is_not_definite_is_refused_wherever_the_pivot_is) {
  for (const Index bad : {0, 63, 64, 200, 299})
    for (const int threads : {1, 3}) {
      Matrix<double> A = definite(300, 5);
      A(bad, bad) = -1;
      BlockTriangle<double> L(300, 300);
      fill(A, L);
      CHECK(check::throws<NotPositiveDefinite>([&] { partial_llt(Context(threads), L); }));
    }
}
