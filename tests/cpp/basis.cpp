// M = I - ZVᵀ: its first columns annihilate the features.
#include "matrices/basis.hpp"

#include <Eigen/Dense>
#include <random>

#include "base/errors.hpp"
#include "check.hpp"

using namespace grls;

namespace {

Matrix<double> features(Index m, Index l, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  Matrix<double> T = Matrix<double>::NullaryExpr(m, l, [&] { return normal(bits); });
  if (l > 0) T.col(0).setOnes();
  return T;
}

Matrix<double> chosen(const Matrix<double>& T, const IndexList& columns) {
  Matrix<double> out(T.rows(), static_cast<Index>(columns.size()));
  for (Index p = 0; p < out.cols(); ++p) out.col(p) = T.col(columns[static_cast<std::size_t>(p)]);
  return out;
}

// What holds for both bases.
void check_basis(const Basis& basis, const Matrix<double>& T, Index rank, const std::string& where) {
  const Index m = T.rows(), n = m - rank;
  CHECK_IN(where, basis.rank() == rank);
  const Matrix<double> M = basis.times(Matrix<double>::Identity(m, m));
  const Matrix<double> ordered = basis.ordered(T);
  const double size = std::max(T.size() > 0 ? T.cwiseAbs().maxCoeff() : 1.0, 1e-300);
  const Matrix<double> left = ordered.transpose() * M.leftCols(n);
  CHECK_IN(where, left.size() == 0 || left.cwiseAbs().maxCoeff() < 1e-11 * size * static_cast<double>(m));
  const Matrix<double> kept = M.transpose() * chosen(ordered, basis.kept);
  CHECK_IN(where, (kept.bottomRows(rank) - basis.C).norm() <= 1e-11 * (1 + kept.norm()));
  CHECK_IN(where, (basis.restored(ordered) - T).norm() == 0);
  CHECK_IN(where, (basis.transposed_times(ordered) - M.transpose() * ordered).norm() <=
                      1e-11 * (1 + ordered.norm()));
}

}  // namespace

TEST(basis, the_null_space_comes_first_in_both_bases) {
  for (const Index m : {1, 2, 5, 64, 101})
    for (const Index l : {0, 1, 2, 5}) {
      if (l > m) continue;
      const Matrix<double> T = features(m, l, static_cast<unsigned>(10 * m + l));
      const std::string where = std::to_string(m) + ", " + std::to_string(l);
      const Basis orthonormal = orthonormal_basis(T, 1e-12);
      check_basis(orthonormal, T, l, where + " orthonormal");
      const Matrix<double> M = orthonormal.times(Matrix<double>::Identity(m, m));
      CHECK_IN(where, (M.transpose() * M - Matrix<double>::Identity(m, m)).norm() < 1e-12 * double(m));
      check_basis(pivot_basis(T, Pivots::qr, 1e-12), T, l, where + " pivots");
    }
}

TEST(basis, features_made_of_others_are_dropped) {
  Matrix<double> T = features(40, 5, 1);
  T.col(3) = 2 * T.col(1) - T.col(2);
  T.col(4).setZero();
  for (const Basis& basis : {orthonormal_basis(T, 1e-10), pivot_basis(T, Pivots::qr, 1e-10)}) {
    check_basis(basis, T, 3, "dependent");
    CHECK(std::find(basis.kept.begin(), basis.kept.end(), 4) == basis.kept.end());
    const Matrix<double> beta = basis.feature_coefficients(Matrix<double>::Ones(3, 2));
    CHECK(beta.rows() == 5 && beta.row(4).isZero(0));
  }
  CHECK(orthonormal_basis(Matrix<double>::Zero(7, 3), 1e-10).rank() == 0);
}

TEST(basis, pivots_have_one_feature_apiece) {
  const Matrix<double> T = features(30, 4, 2);
  const Basis basis = pivot_basis(T, Pivots::first, 1e-12);
  for (Index p = 0; p < 4; ++p)
    CHECK(basis.order[static_cast<std::size_t>(26 + p)] == p);  // the first samples, put last
  Matrix<double> singular = T;
  singular.row(1) = singular.row(0);
  CHECK(check::throws<InvalidArgument>([&] { pivot_basis(singular, Pivots::first, 1e-10); }, "singular"));
}
