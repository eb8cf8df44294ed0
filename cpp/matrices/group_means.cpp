#include "matrices/group_means.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace grls {

GroupMeans::GroupMeans(const IndexList& codes, const Vector<double>& roots) : codes_(codes), roots_(roots) {
  const std::size_t m = codes.size();
  require(roots.size() == 0 || roots.size() == static_cast<Index>(m), "got ", roots.size(),
          " weights for the groups of ", m, " samples");
  Index last = -1;
  for (const Index g : codes) {
    require(g >= 0 && g < static_cast<Index>(m), "a sample is in group ", g, ", expected 0 … ", m - 1);
    last = std::max(last, g);
  }
  starts_.assign(static_cast<std::size_t>(last + 2), 0);
  for (const Index g : codes) ++starts_[static_cast<std::size_t>(g + 1)];
  for (std::size_t g = 0; g + 1 < starts_.size(); ++g) {
    require(starts_[g + 1] > 0, "group ", g, " has no samples");
    starts_[g + 1] += starts_[g];
  }
  samples_.resize(m);
  IndexList next(starts_.begin(), starts_.end() - 1);
  weights_ = Vector<double>::Zero(last + 1);
  for (std::size_t i = 0; i < m; ++i) {
    const Index g = codes[i], sample = static_cast<Index>(i);
    samples_[static_cast<std::size_t>(next[static_cast<std::size_t>(g)]++)] = sample;
    weights_[g] += root(sample) * root(sample);
  }
}

Matrix<double> GroupMeans::means(const Matrix<double>& X) const {
  require(X.rows() == static_cast<Index>(codes_.size()), "there are ", X.rows(), " rows for ", codes_.size(),
          " samples in groups");
  Matrix<double> out = Matrix<double>::Zero(groups(), X.cols());
  for (Index p = 0; p < X.cols(); ++p)
    for (Index i = 0; i < X.rows(); ++i) out(group(i), p) += root(i) * X(i, p);
  return weights_.cwiseInverse().asDiagonal() * out;
}

void GroupMeans::take_off(Matrix<double>& X) const {
  const Matrix<double> mean = means(X);
  for (Index p = 0; p < X.cols(); ++p)
    for (Index i = 0; i < X.rows(); ++i) X(i, p) -= root(i) * mean(group(i), p);
}

void GroupMeans::take_off_transposed(const Context& context, Index r, Matrix<double>& Xt) const {
  require(Xt.cols() == static_cast<Index>(codes_.size()) && r >= 0 && r <= Xt.rows(), "got ", Xt.cols(),
          " columns and ", r, " of ", Xt.rows(), " rows for ", codes_.size(), " samples in groups");
  const double work = 4.0 * static_cast<double>(r) * static_cast<double>(Xt.cols());
  parallel_for(context, groups(), workers_for(context, work), [&](Index g, const Worker&) {
    Vector<double> mean = Vector<double>::Zero(r);
    for (Index p = start(g); p < start(g + 1); ++p) {
      const Index i = samples_[static_cast<std::size_t>(p)];
      mean += root(i) * Xt.col(i).head(r);
    }
    mean /= weights_[g];
    for (Index p = start(g); p < start(g + 1); ++p) {
      const Index i = samples_[static_cast<std::size_t>(p)];
      Xt.col(i).head(r) -= root(i) * mean;
    }
  });
}

}  // namespace grls
