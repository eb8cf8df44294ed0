#include "least_squares/left_out.hpp"

#include <algorithm>
#include <limits>

#include "base/blas.hpp"
#include "base/checkpoint.hpp"
#include "base/errors.hpp"

namespace grls {
namespace {

constexpr Index kPanel =
    128;  // columns between two looks whether to go on: a group may be half of the samples

template <class Body>
void for_panels(Index size, const Checkpoint& checkpoint, const Body& body) {
  for (Index j = 0; j < size; j += kPanel) {
    checkpoint.pass();
    body(j, std::min(kPanel, size - j));
  }
}

// The lower triangle of VᵀV.
Matrix<double> squares(const Matrix<double>& V, const Checkpoint& checkpoint) {
  const Index n = V.cols(), h = V.rows();
  Matrix<double> B(n, n);
  for_panels(n, checkpoint, [&](Index j, Index columns) {
    const Index below = j + columns;
    blas::syrk_lower_of_columns(columns, h, 1.0, V.data() + j * h, h, 0.0, B.data() + j * n + j, n);
    if (below < n)
      blas::gemm(blas::Op::transpose, blas::Op::none, n - below, columns, h, 1.0, V.data() + below * h, h,
                 V.data() + j * h, h, 0.0, B.data() + j * n + below, n);
  });
  return B;
}

// The Cholesky factor in the lower triangle of B; false where that is not positive definite.
bool factorise(Matrix<double>& B, const Checkpoint& checkpoint) {
  const Index n = B.rows();
  bool definite = true;
  for_panels(n, checkpoint, [&](Index j, Index columns) {
    const Index below = j + columns;
    double* const corner = B.data() + j * n + j;
    definite = definite && blas::potrf_lower(columns, corner, n);
    if (!definite || below == n) return;
    blas::trsm_right_lower_transposed(n - below, columns, corner, n, corner + columns, n);
    blas::syrk_lower(n - below, columns, -1.0, corner + columns, n, 1.0, B.data() + below * n + below, n);
  });
  return definite;
}

// The diagonal of (LLᵀ)⁻¹.
Vector<double> inverse_diagonal(const Matrix<double>& L, const Checkpoint& checkpoint) {
  const Index n = L.rows();
  Vector<double> out(n);
  for_panels(n, checkpoint, [&](Index j, Index columns) {
    Matrix<double> inverse = Matrix<double>::Identity(n - j, columns);
    blas::trsm_left_lower(blas::Op::none, n - j, columns, L.data() + j * n + j, n, inverse.data(), n - j);
    out.segment(j, columns) = inverse.colwise().squaredNorm().transpose();
  });
  return out;
}

}  // namespace

Index Groups::largest() const {
  Index out = 0;
  for (Index g = 0; g < count(); ++g) out = std::max(out, size(g));
  return out;
}

void Groups::check(Index m) const {
  require(!starts.empty() && starts.front() == 0 && starts.back() == static_cast<Index>(rows.size()) &&
              std::is_sorted(starts.begin(), starts.end()),
          "groups: the starts must ascend from 0 to the number of rows");
  for (const Index row : rows) require(row >= 0 && row < m, "groups: there is no sample ", row);
}

LeftOut leave_out(const Context& context, const Groups& groups, const Matrix<double>& c,
                  const Matrix<double>& extra, Index order, const HalfOfGroup& half) {
  const Index m = c.rows(), k = c.cols(), total = static_cast<Index>(groups.rows.size());
  groups.check(m);
  require(extra.rows() == m, "what is added to B has ", extra.rows(), " rows, c has ", m);
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  LeftOut out{Matrix<double>::Constant(total, k, unknown), Vector<double>::Constant(total, unknown)};
  const auto largest = static_cast<double>(groups.largest());
  const double work = static_cast<double>(total) * static_cast<double>(order) * (64 + largest);
  parallel_for(context, groups.count(), workers_for(context, work), [&](Index g, const Worker& worker) {
    const Checkpoint checkpoint(context, worker);
    const Index size = groups.size(g), at = groups.start(g);
    if (size == 0) return;
    const auto row = [&](Index i) { return groups.rows[static_cast<std::size_t>(at + i)]; };
    Matrix<double> B = squares(half(g), checkpoint);
    if (extra.cols() > 0) {
      Matrix<double> part(size, extra.cols());
      for (Index i = 0; i < size; ++i) part.row(i) = extra.row(row(i));
      blas::syrk_lower(size, extra.cols(), 1.0, part.data(), size, 1.0, B.data(), size);
    }
    Matrix<double> X(size, k);
    for (Index i = 0; i < size; ++i) X.row(i) = c.row(row(i));
    if (!factorise(B, checkpoint)) return;
    blas::trsm_left_lower(blas::Op::none, size, k, B.data(), size, X.data(), size);
    blas::trsm_left_lower(blas::Op::transpose, size, k, B.data(), size, X.data(), size);
    out.residuals.middleRows(at, size) = X;
    out.variances.segment(at, size) = inverse_diagonal(B, checkpoint);
  });
  return out;
}

double leave_out_bytes(Index order, Index largest, Index workers) {
  require_count(order, "samples");
  require_count(largest, "rows of a group");
  const auto n = static_cast<double>(order), size = static_cast<double>(largest);
  // The samples of a group as they are and solved, B_GG and a panel of its inverse.
  return 8 * static_cast<double>(std::max<Index>(workers, 1)) *
         (2 * n * size + size * size + std::min<double>(kPanel, size) * size);
}

}  // namespace grls
