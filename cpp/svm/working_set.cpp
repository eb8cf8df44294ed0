#include "svm/working_set.hpp"

#include <algorithm>
#include <limits>

#include "base/vmath.hpp"

namespace grls {

using vmath::kBlock;

template <class S>
void WorkingSet<S>::resize(Index n, Index kept) {
  const Index last_n = n_, last_stride = stride_;
  n_ = n;
  stride_ = (n + kBlock - 1) / kBlock * kBlock;  // what lies beyond n may neither grow nor shrink
  std::swap(K_, last_K_);
  if (static_cast<Index>(K_.size()) < n * stride_) K_.resize(static_cast<std::size_t>(n * stride_));
  for (Index i = 0; i < n; ++i) std::fill(row(i) + n, row(i) + stride_, S(0));
  for (Index i = 0; i < kept; ++i)
    std::copy_n(last_K_.data() + (last_n - kept + i) * last_stride + (last_n - kept), kept, row(i));
  for (auto* v : {&residual_, &up_, &down_}) v->assign(static_cast<std::size_t>(stride_), S(0));
  diagonal_.assign(static_cast<std::size_t>(stride_), S(1));
  best_.assign(static_cast<std::size_t>(stride_ / kBlock), S(0));
  for (auto* v : {&c_, &lower_, &upper_}) v->assign(static_cast<std::size_t>(n), 0.0);
}

template <class S>
void WorkingSet<S>::set(Index i, double c, double lower, double upper, double residual) {
  const auto k = static_cast<std::size_t>(i);
  c_[k] = c;
  lower_[k] = lower;
  upper_[k] = upper;
  residual_[k] = static_cast<S>(residual);
  diagonal_[k] = row(i)[i];
  mark(i);
}

template <class S>
void WorkingSet<S>::mark(Index i) {
  const auto k = static_cast<std::size_t>(i);
  up_[k] = c_[k] < upper_[k] ? S(1) : S(0);
  down_[k] = c_[k] > lower_[k] ? S(1) : S(0);
}

template <class S>
Index WorkingSet<S>::block_of_best() const {
  return static_cast<Index>(std::max_element(best_.begin(), best_.end()) - best_.begin()) * kBlock;
}

// The place in its block where `value` is largest.
template <class Value>
Index place_of_largest(Index first, const Value& value) {
  Index place = first;
  auto most = value(first);
  for (Index i = first + 1; i < first + kBlock; ++i)
    if (const auto other = value(i); other > most) {
      most = other;
      place = i;
    }
  return place;
}

template <class S>
Index WorkingSet<S>::solve(bool balanced, double tolerance, Index max_steps) {
  return balanced ? solve_pairs(static_cast<S>(tolerance), max_steps)
                  : solve_singles(static_cast<S>(tolerance), max_steps);
}

template <class S>
Index WorkingSet<S>::solve_pairs(S tolerance, Index max_steps) {
  constexpr S kNone = -std::numeric_limits<S>::infinity();
  S* const r = residual_.data();
  vmath::smo_move_pair(r, row(0), S(0), row(0), S(0), up_.data(), stride_, best_.data());
  for (Index steps = 0; steps < max_steps; ++steps) {
    const Index i = place_of_largest(
        block_of_best(), [&](Index k) { return up_[static_cast<std::size_t>(k)] > 0 ? r[k] : kNone; });
    if (!(up_[static_cast<std::size_t>(i)] > 0)) return steps;
    const S* const k_i = row(i);
    const S k_ii = k_i[i];
    const S widest =
        vmath::smo_pair_gain(r, down_.data(), k_i, diagonal_.data(), r[i], k_ii, stride_, best_.data());
    if (!(widest > tolerance)) return steps;
    const auto curvature = [&](Index k) {
      return std::max(k_ii + diagonal_[static_cast<std::size_t>(k)] - 2 * k_i[k], vmath::kCurvature<S>);
    };
    const Index j = place_of_largest(block_of_best(), [&](Index k) {
      const S apart = std::max((r[i] - r[k]) * down_[static_cast<std::size_t>(k)], S(0));
      return apart * apart / curvature(k);
    });
    if (i == j || !(down_[static_cast<std::size_t>(j)] > 0)) return steps;

    double& up = c_[static_cast<std::size_t>(i)];
    double& down = c_[static_cast<std::size_t>(j)];
    const double room_up = upper_[static_cast<std::size_t>(i)] - up,
                 room_down = down - lower_[static_cast<std::size_t>(j)];
    const double wanted = static_cast<double>(r[i] - r[j]) / static_cast<double>(curvature(j));
    const double step = std::min({wanted, room_up, room_down});
    up = step < room_up ? up + step : upper_[static_cast<std::size_t>(i)];
    down = step < room_down ? down - step : lower_[static_cast<std::size_t>(j)];
    mark(i);
    mark(j);
    vmath::smo_move_pair(r, k_i, static_cast<S>(step), row(j), static_cast<S>(-step), up_.data(), stride_,
                         best_.data());
  }
  return max_steps;
}

template <class S>
Index WorkingSet<S>::solve_singles(S tolerance, Index max_steps) {
  S* const r = residual_.data();
  const auto move = [&](Index i, S step) {
    return vmath::smo_move_single(r, row(i), step, up_.data(), down_.data(), diagonal_.data(), stride_,
                                  best_.data());
  };
  S widest = move(0, S(0));
  for (Index steps = 0; steps < max_steps; ++steps) {
    if (!(widest > tolerance)) return steps;
    const Index i = place_of_largest(block_of_best(), [&](Index k) {
      const auto p = static_cast<std::size_t>(k);
      const S open = (r[k] > 0 ? r[k] : -r[k]) * (r[k] > 0 ? up_[p] : down_[p]);
      return open * open / std::max(diagonal_[p], vmath::kCurvature<S>);
    });
    const auto k = static_cast<std::size_t>(i);
    if (i >= n_) return steps;
    const double wanted =
        c_[k] + static_cast<double>(r[i]) / static_cast<double>(std::max(diagonal_[k], vmath::kCurvature<S>));
    const double to = std::min(std::max(wanted, lower_[k]), upper_[k]);
    const double step = to - c_[k];
    c_[k] = to;
    mark(i);
    widest = move(i, static_cast<S>(step));
  }
  return max_steps;
}

template class WorkingSet<double>;
template class WorkingSet<float>;

}  // namespace grls
