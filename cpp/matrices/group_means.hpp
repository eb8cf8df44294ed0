// Effects of groups among the features: the indicators D (m, G) of groups of samples, which are not stored.
//
// With sample weights w, W½D has orthogonal columns of squared length w_g = Σ w over a group. What they leave
// of a vector x of the weighted samples is x_i - √w_i x̄_g, with the mean x̄_g = Σ_j √w_j x_j / w_g of the
// group of i.
#pragma once

#include "base/parallel.hpp"
#include "base/types.hpp"

namespace grls {

class GroupMeans {
 public:
  GroupMeans() = default;  // there are no groups
  // codes (m): the group of each sample, from 0 on and none of them empty; roots (m): of the sample weights,
  // or empty.
  GroupMeans(const IndexList& codes, const Vector<double>& roots);

  Index groups() const { return weights_.size(); }
  Index group(Index sample) const { return codes_[static_cast<std::size_t>(sample)]; }
  double weight(Index g) const { return weights_[g]; }
  double total() const { return weights_.sum(); }
  double root(Index sample) const { return roots_.size() > 0 ? roots_[sample] : 1.0; }
  // Samples by groups: those of g are samples()[start(g)] … samples()[start(g + 1) - 1].
  const IndexList& samples() const { return samples_; }
  Index start(Index g) const { return starts_[static_cast<std::size_t>(g)]; }

  // x̄ (G, k) of the columns of X (m, k).
  Matrix<double> means(const Matrix<double>& X) const;
  // X (m, k) <- X - W½D x̄
  void take_off(Matrix<double>& X) const;
  // The same of the first r rows of Xt (at least r, m): one column of Xt for each sample.
  void take_off_transposed(const Context& context, Index r, Matrix<double>& Xt) const;

 private:
  IndexList codes_, samples_, starts_;
  Vector<double> roots_, weights_;
};

}  // namespace grls
