// Matrices where memory ends: what could not be made leaves nothing behind that would be given back twice.
#include "base/storage.hpp"

#include <new>

#include "base/types.hpp"
#include "check.hpp"

using grls::Index;
using grls::Matrix;
using grls::Vector;

namespace {

constexpr Index kTooMany = Index{1} << 58;  // numbers: more bytes than there are addresses

// What resize, or an assignment, does to a matrix that holds something.
template <class M, class Change>
bool refused(M& matrix, Change change) {
  try {
    change(matrix);
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

}  // namespace

TEST(storage, a_matrix_that_cannot_grow_is_empty) {
  Matrix<double> A = Matrix<double>::Ones(3, 4);
  CHECK(refused(A, [](auto& a) { a.resize(kTooMany / 4, 4); }));
  CHECK(A.size() == 0);
  A = Matrix<double>::Ones(2, 2);
  CHECK(A.sum() == 4);
  Vector<float> x = Vector<float>::Ones(5);
  CHECK(refused(x, [](auto& v) { v.resize(kTooMany); }));
  CHECK(x.size() == 0);
  Eigen::RowVectorXd y = Eigen::RowVectorXd::Ones(5);
  CHECK(refused(y, [](auto& v) { v.resize(kTooMany); }));
  CHECK(y.size() == 0);
}

TEST(storage, a_matrix_that_cannot_grow_and_keep_its_numbers_keeps_them) {
  Vector<double> x = Vector<double>::LinSpaced(5, 0, 4);
  CHECK(refused(x, [](auto& v) { v.conservativeResize(kTooMany); }));
  CHECK(x.size() == 5 && x[4] == 4);
  x.conservativeResize(7);
  CHECK(x.size() == 7 && x[4] == 4);
}

TEST(storage, matrices_are_copied_moved_and_exchanged) {
  Matrix<double> A = Matrix<double>::Random(3, 2), B = A, C = std::move(A);
  CHECK(A.size() == 0 && B == C);
  Matrix<double> D = Matrix<double>::Zero(1, 4);
  D.swap(B);
  CHECK(D == C && B.cols() == 4);
  B = D;
  B.resize(2, 3);  // as many numbers, in the same place
  CHECK(B.rows() == 2 && B.data()[5] == C.data()[5]);
  Vector<double> none, other(0);
  none = other;
  CHECK(none.size() == 0 && none.cols() == 1);
}
