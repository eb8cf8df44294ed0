#include "matrices/conjugate_gradients.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "check.hpp"

using namespace grls;

namespace {

Matrix<double> random(Index rows, Index columns, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  return Matrix<double>::NullaryExpr(rows, columns, [&] { return normal(bits); });
}

// A system of condition number about `condition`, preconditioned by its diagonal.
struct Dense {
  Matrix<double> A;
  LinearSystem<Matrix<double>> system;

  explicit Dense(Index n, double condition = 100) {
    const Matrix<double> Q = Eigen::HouseholderQR<Matrix<double>>(random(n, n, 1)).householderQ();
    Vector<double> d(n);
    for (Index i = 0; i < n; ++i)
      d[i] = std::pow(condition, static_cast<double>(i) / static_cast<double>(std::max<Index>(n - 1, 1)));
    A = Q * d.asDiagonal() * Q.transpose();
    system.multiply = [this](const Matrix<double>& X, Matrix<double>& out) { out = A * X; };
    system.precondition = [this](Matrix<double>& R) { R = A.diagonal().cwiseInverse().asDiagonal() * R; };
  }
  Dense(const Dense&) = delete;

  double worst(const Matrix<double>& X, const Matrix<double>& B) const {
    return ((B - A * X).colwise().norm().array() / B.colwise().norm().array()).maxCoeff();
  }
};

const Context context(2);

}  // namespace

TEST(conjugate_gradients, the_tolerance_is_that_of_the_solution_itself) {
  const Dense dense(60);
  const Matrix<double> B = random(60, 3, 2);
  for (const double tolerance : {1e-3, 1e-8, 1e-12}) {
    const auto solved = conjugate_gradients(context, dense.system, B, {tolerance, 500});
    CHECK(solved.status == Status::converged);
    CHECK(dense.worst(solved.X, B) <= tolerance * 1.01);
    CHECK(std::abs(solved.residuals.maxCoeff() - dense.worst(solved.X, B)) <= 1e-2 * tolerance + 1e-15);
  }
}

TEST(conjugate_gradients, steps_that_run_out_are_told) {
  const Dense dense(60, 1e6);
  const Matrix<double> B = random(60, 2, 2);
  const auto solved = conjugate_gradients(context, dense.system, B, {1e-10, 3});
  CHECK(solved.status == Status::iteration_limit);
  CHECK(solved.iterations == 3);
  CHECK(solved.residuals.maxCoeff() > 1e-10);
}

TEST(conjugate_gradients, a_tolerance_that_rounding_does_not_allow_is_stagnation_and_ends) {
  const Dense dense(60, 1e6);
  const Matrix<double> B = random(60, 2, 2);
  const auto solved = conjugate_gradients(context, dense.system, B, {1e-30, 100000});
  CHECK(solved.status == Status::stagnated);
  CHECK(solved.iterations < 100000);
  CHECK(solved.residuals.maxCoeff() < 1e-9);
}

TEST(conjugate_gradients, zero_columns_and_empty_blocks_are_solved_at_once) {
  const Dense dense(20);
  Matrix<double> B = random(20, 3, 2);
  B.col(1).setZero();
  const auto solved = conjugate_gradients(context, dense.system, B, {1e-10, 100});
  CHECK(solved.status == Status::converged);
  CHECK(solved.X.col(1).isZero(0));
  CHECK(solved.residuals[1] == 0);
  const auto zero =
      conjugate_gradients(context, dense.system, Matrix<double>(Matrix<double>::Zero(20, 2)), {1e-10, 100});
  CHECK(zero.iterations == 0 && zero.status == Status::converged && zero.X.isZero(0));
  const auto none = conjugate_gradients(context, dense.system, Matrix<double>(20, 0), {1e-10, 100});
  CHECK(none.iterations == 0 && none.status == Status::converged && none.X.cols() == 0);
}

TEST(conjugate_gradients, columns_of_any_size_have_the_same_digits) {
  const Dense dense(40);
  const Matrix<double> B = random(40, 2, 2);
  const auto plain = conjugate_gradients(context, dense.system, B, {1e-10, 200});
  for (const int exponent : {-990, -500, 500, 1000}) {
    Matrix<double> scaled = B;
    scaled.col(1) *= std::ldexp(1.0, exponent);
    const auto solved = conjugate_gradients(context, dense.system, scaled, {1e-10, 200});
    CHECK_IN(std::to_string(exponent), solved.status == Status::converged);
    CHECK_IN(std::to_string(exponent), solved.X.col(0) == plain.X.col(0));
    CHECK_IN(std::to_string(exponent), solved.X.col(1) == std::ldexp(1.0, exponent) * plain.X.col(1));
  }
}

TEST(conjugate_gradients, a_product_that_overflows_is_an_error_and_not_endless) {
  Dense dense(20);
  dense.system.multiply = [](const Matrix<double>& X, Matrix<double>& out) { out = 1e308 * X * 1e8; };
  const Matrix<double> B = random(20, 2, 2);
  const auto run = [&] { conjugate_gradients(context, dense.system, B, {1e-10, 1000000000}); };
  CHECK(check::throws<ProductOverflow>(run, "scale"));
  Dense spoilt(20);
  spoilt.system.precondition = [](Matrix<double>& R) { R.setConstant(std::nan("")); };
  CHECK(check::throws<ProductOverflow>(
      [&] { conjugate_gradients(context, spoilt.system, B, {1e-10, 1000000000}); }));
  Matrix<double> bad = B;
  bad(3, 1) = std::numeric_limits<double>::infinity();
  const Dense good(20);
  CHECK(check::throws<ProductOverflow>([&] { conjugate_gradients(context, good.system, bad, {1e-10, 10}); }));
}

TEST(conjugate_gradients, rough_products_are_corrected) {
  Dense dense(80, 1e3);
  const Matrix<double> B = random(80, 2, 2);
  int rough = 0, full = 0;
  dense.system.multiply = [&](const Matrix<double>& X, Matrix<double>& out) {
    ++full;
    out = dense.A * X;
  };
  dense.system.multiply_roughly = [&](const Matrix<double>& X, Matrix<double>& out) {
    ++rough;
    out = (dense.A.cast<float>() * X.cast<float>()).cast<double>();
  };
  const auto solved = conjugate_gradients(context, dense.system, B, {1e-12, 1000});
  CHECK(solved.status == Status::converged && dense.worst(solved.X, B) <= 1.01e-12);
  CHECK(rough > 4 * full);
}

TEST(conjugate_gradients, rough_products_that_have_nothing_to_give_are_left) {
  Dense dense(60);
  const Matrix<double> B = random(60, 2, 2);
  for (const double value : {0.0, -1.0, std::nan("")}) {
    dense.system.multiply_roughly = [&](const Matrix<double>& X, Matrix<double>& out) { out = value * X; };
    const auto solved = conjugate_gradients(context, dense.system, B, {1e-10, 1000});
    CHECK(solved.status == Status::converged && dense.worst(solved.X, B) <= 1.01e-10);
  }
}

TEST(conjugate_gradients, a_good_guess_needs_no_step) {
  const Dense dense(30);
  const Matrix<double> B = random(30, 2, 2);
  const Matrix<double> X = dense.A.llt().solve(B);
  const FirstGuess<Matrix<double>> guess{X, dense.A * X};
  const auto solved = conjugate_gradients<Matrix<double>>(context, dense.system, B, {1e-10, 100}, guess);
  CHECK(solved.iterations == 0 && solved.status == Status::converged);
  CHECK((solved.X - X).norm() <= 1e-14 * X.norm());
}

TEST(conjugate_gradients, steps_are_reported_and_may_be_stopped) {
  const Dense dense(60, 1e4);
  const Matrix<double> B = random(60, 2, 2);
  std::vector<int> steps;
  GradientsOptions options{1e-10, 500, [&](int step, double residual, bool) {
                             if (residual >= 0) steps.push_back(step);
                           }};
  const auto solved = conjugate_gradients(context, dense.system, B, options);
  CHECK(!steps.empty() && steps.front() == 1 && steps.back() == solved.iterations);
  options.report = [](int step, double, bool) {
    if (step == 3) throw std::domain_error("enough");
  };
  CHECK(check::throws<std::domain_error>([&] { conjugate_gradients(context, dense.system, B, options); },
                                         "enough"));
}

TEST(conjugate_gradients, the_answer_does_not_depend_on_threads_or_on_the_order_of_storage) {
  const Index n = 20000;
  const Vector<double> d = random(n, 1, 3).cwiseAbs2().array() + 0.1;
  const Matrix<double> B = random(n, 2, 4);
  const auto solve = [&](auto block, int threads) {
    using Block = decltype(block);
    LinearSystem<Block> system;
    system.multiply = [&](const Block& X, Block& out) { out = d.asDiagonal() * X; };
    system.precondition = [](Block&) {};
    return Matrix<double>(conjugate_gradients<Block>(Context(threads), system, Block(B), {1e-9, 400}).X);
  };
  const Matrix<double> alone = solve(RowBlock(), 1);
  for (const int threads : {2, 5}) CHECK(solve(RowBlock(), threads) == alone);
  CHECK((solve(Matrix<double>(), 2) - alone).norm() < 1e-7 * alone.norm());
}
