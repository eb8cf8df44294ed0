// A long task looks whether to go on from within: between two looks there is a bounded amount of work.
#include <random>

#include "base/parallel.hpp"
#include "check.hpp"
#include "least_squares/left_out.hpp"
#include "matrices/basis.hpp"
#include "matrices/small_systems.hpp"
#include "svm/separation.hpp"

using namespace grls;

namespace {

struct Enough : std::runtime_error {
  Enough() : std::runtime_error("interrupted") {}
};

// Whether `run`, which takes many times 20 ms, asks its context often enough to be stopped at the third time;
// a list of tasks asks once after the only one.
template <class Run>
bool asks(const Run& run) {
  int asked = 0;
  const Context context(1, [&] {
    if (++asked == 3) throw Enough();
  });
  return check::throws<Enough>([&] { run(context); });
}

Matrix<double> normal_matrix(Index rows, Index columns) {
  std::mt19937 bits(0);
  std::normal_distribution<double> normal;
  return Matrix<double>::NullaryExpr(rows, columns, [&] { return normal(bits); });
}

}  // namespace

TEST(interrupts, columns_with_pivots) {
  const Matrix<double> A = normal_matrix(1400, 1400);
  CHECK(asks([&](const Context& context) { shortest_solution(A, A.col(0), &context); }));
  CHECK(asks([&](const Context& context) { pivot_columns(A, &context); }));
}

TEST(interrupts, pivots_are_those_of_the_largest_columns) {
  Matrix<double> A = normal_matrix(40, 12);
  A.col(5) = A.col(2) - 3 * A.col(7);
  const PivotColumns found = pivot_columns(A);
  CHECK(found.rank == 11);
  Index largest;
  A.colwise().norm().maxCoeff(&largest);
  CHECK(found.order.front() == largest);
  IndexList sorted = found.order;
  std::sort(sorted.begin(), sorted.end());
  for (Index j = 0; j < 12; ++j) CHECK(sorted[static_cast<std::size_t>(j)] == j);
  for (const Index rows : {40, 12, 9, 1}) {  // tall, square, wide
    const Matrix<double> part = A.topRows(rows);
    const Vector<double> b = normal_matrix(rows, 1);
    const Vector<double> x = shortest_solution(part, b), left = part.transpose() * (b - part * x);
    CHECK(left.norm() < 1e-10 * b.norm() * part.norm());
    const Matrix<double> full = part.leftCols(std::min<Index>(5, rows));
    const Vector<double> y = shortest_solution(full, b);
    CHECK((full.transpose() * (b - full * y)).norm() < 1e-10 * b.norm() * part.norm());
  }
}

TEST(interrupts, large_systems) {
  const Matrix<double> A = normal_matrix(900, 900), B = normal_matrix(900, 70);
  for (const int last : {1, 15, 29, 43}) {  // in every phase: 900 columns are 15 panels
    int asked = 0;
    const auto poll = [&] {
      if (++asked == last) throw Enough();
    };
    CHECK(check::throws<Enough>([&] { solved(A, B, poll); }));
    CHECK(asked == last);
    asked = 0;
    CHECK(check::throws<Enough>([&] { inverse_of(A, poll); }));
  }
}

TEST(interrupts, large_systems_have_the_solution_of_small_ones) {
  for (const Index n : {511, 512, 513, 700}) {
    Matrix<double> A = normal_matrix(n, n);
    A.row(3) *= 1e200;  // rows have units of their own
    A.row(n - 1) *= 1e-200;
    A(0, 0) = 0;  // no pivot without an exchange
    const Matrix<double> X = normal_matrix(n, 3), B = A * X;
    const Matrix<double> found = solved(A, B, [] {}), whole = solved(A, B);
    CHECK((found - X).norm() < 1e-8 * X.norm());
    CHECK((found - whole).norm() < 1e-8 * X.norm());
  }
  Matrix<double> singular = normal_matrix(600, 600);
  singular.col(7).setZero();
  CHECK(!inverse_of(singular, [] {}).allFinite());
}

TEST(interrupts, features_made_orthonormal) {
  const Matrix<double> T = normal_matrix(3000, 700);
  int asked = 0;
  const Context context(1, [&] { ++asked; });
  const Basis basis = orthonormal_basis(T, 1e-12, &context);
  const Matrix<double> M = basis.times(Matrix<double>::Identity(3000, 5));
  CHECK((M.transpose() * M - Matrix<double>::Identity(5, 5)).norm() < 1e-10);
  CHECK(asked > 10);
}

TEST(interrupts, features_that_may_separate_classes) {
  const Index m = 1200, r = 300;
  SvmQp qp;
  qp.U = normal_matrix(m, r);
  qp.t = normal_matrix(m, 1).col(0).cwiseSign();
  qp.lower = qp.t.cwiseMin(0.0);
  qp.upper = qp.t.cwiseMax(0.0);
  const Matrix<double> metric = Matrix<double>::Identity(r, r);
  CHECK(asks([&](const Context& context) { separate(context, qp, false, metric); }));
}

TEST(interrupts, a_group_that_is_left_out) {
  const Index m = 2000;
  const Matrix<double> V = normal_matrix(m, m), c = normal_matrix(m, 1);
  Groups groups;
  for (Index i = 0; i < m; ++i) groups.rows.push_back(i);
  groups.starts = {0, m};
  const auto run = [&](const Context& context) {
    leave_out(context, groups, c, Matrix<double>(m, 0), m, [&](Index) { return V; });
  };
  CHECK(asks(run));
}

TEST(interrupts, a_group_in_panels_is_the_group) {
  const Index m = 300;  // more than one panel
  const Matrix<double> V = normal_matrix(2 * m, m), c = normal_matrix(m, 2), extra = normal_matrix(m, 3);
  Groups groups;
  for (Index i = 0; i < m; ++i) groups.rows.push_back(i);
  groups.starts = {0, m};
  const LeftOut out = leave_out(Context(1), groups, c, extra, 2 * m, [&](Index) { return V; });
  const Matrix<double> inverse = inverse_of(V.transpose() * V + extra * extra.transpose());
  CHECK((out.residuals - inverse * c).norm() < 1e-10 * out.residuals.norm());
  CHECK((out.variances - inverse.diagonal()).norm() < 1e-10 * out.variances.norm());
}
