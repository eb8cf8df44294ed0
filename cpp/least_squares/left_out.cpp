#include "least_squares/left_out.hpp"

#include <algorithm>
#include <limits>

#include "base/blas.hpp"
#include "base/errors.hpp"

namespace grls {

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
  parallel_for(context, groups.count(), workers_for(context, work), [&](Index g, const Worker&) {
    const Index size = groups.size(g), at = groups.start(g);
    if (size == 0) return;
    const auto row = [&](Index i) { return groups.rows[static_cast<std::size_t>(at + i)]; };
    Matrix<double> B(size, size);
    {
      const Matrix<double> V = half(g);
      blas::syrk_lower_of_columns(size, V.rows(), 1.0, V.data(), V.rows(), 0.0, B.data(), size);
    }
    if (extra.cols() > 0) {
      Matrix<double> part(size, extra.cols());
      for (Index i = 0; i < size; ++i) part.row(i) = extra.row(row(i));
      blas::syrk_lower(size, extra.cols(), 1.0, part.data(), size, 1.0, B.data(), size);
    }
    Matrix<double> X(size, k);
    for (Index i = 0; i < size; ++i) X.row(i) = c.row(row(i));
    if (!blas::potrf_lower(size, B.data(), size)) return;
    blas::trsm_left_lower(blas::Op::none, size, k, B.data(), size, X.data(), size);
    blas::trsm_left_lower(blas::Op::transpose, size, k, B.data(), size, X.data(), size);
    out.residuals.middleRows(at, size) = X;
    Matrix<double> inverse = Matrix<double>::Identity(size, size);
    blas::trsm_left_lower(blas::Op::none, size, size, B.data(), size, inverse.data(), size);
    out.variances.segment(at, size) = inverse.colwise().squaredNorm().transpose();
  });
  return out;
}

double leave_out_bytes(Index order, Index largest, Index workers) {
  require_count(order, "samples");
  require_count(largest, "rows of a group");
  const auto n = static_cast<double>(order), size = static_cast<double>(largest);
  // The samples of a group as they are and solved, B_GG and its inverse.
  return 8 * static_cast<double>(std::max<Index>(workers, 1)) * (2 * n * size + 2 * size * size);
}

}  // namespace grls
