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
  constexpr S kNever = std::numeric_limits<S>::infinity();
  const auto size = static_cast<std::size_t>(stride_);
  residual_.assign(size, S(0));
  up_.assign(size, kNever);
  down_.assign(size, -kNever);
  diagonal_.assign(size, S(1));
  best_.assign(static_cast<std::size_t>(stride_ / kBlock), S(0));
  for (auto* v : {&c_, &lower_, &upper_, &kappa_up_, &kappa_down_, &epsilon_})
    v->assign(static_cast<std::size_t>(n), 0.0);
  has_kink_.assign(static_cast<std::size_t>(n), false);
}

template <class S>
void WorkingSet<S>::set(Index i, double c, double lower, double upper, double residual, double kappa_up,
                        double kappa_down, double epsilon) {
  const auto k = static_cast<std::size_t>(i);
  c_[k] = c;
  lower_[k] = lower;
  upper_[k] = upper;
  kappa_up_[k] = kappa_up;
  kappa_down_[k] = kappa_down;
  epsilon_[k] = epsilon;
  has_kink_[k] = (epsilon > 0 || kappa_up != kappa_down) && lower < 0 && upper > 0;
  residual_[k] = static_cast<S>(residual - (c > 0 ? kappa_up : kappa_down) * c);
  mark(i);
}

template <class S>
void WorkingSet<S>::mark(Index i) {
  constexpr S kNever = std::numeric_limits<S>::infinity();
  const auto k = static_cast<std::size_t>(i);
  const double c = c_[k];
  const S epsilon = static_cast<S>(epsilon_[k]);
  up_[k] = c < upper_[k] ? (c >= 0 ? epsilon : -epsilon) : kNever;
  down_[k] = c > lower_[k] ? (c > 0 ? epsilon : -epsilon) : -kNever;
  const double kappa = c > 0 ? kappa_up_[k] : c < 0 ? kappa_down_[k] : std::max(kappa_up_[k], kappa_down_[k]);
  diagonal_[k] = row(i)[i] + static_cast<S>(kappa);
}

// What a coefficient's own move does to its residual, beside what K does.
template <class S>
void WorkingSet<S>::move(Index i, double to) {
  const auto k = static_cast<std::size_t>(i);
  const double kappa = c_[k] > 0 || to > 0 ? kappa_up_[k] : kappa_down_[k];
  if (kappa != 0) residual_[k] -= static_cast<S>(kappa * (to - c_[k]));
  c_[k] = to;
  mark(i);
}

template <class S>
Index WorkingSet<S>::block_of_best() const {
  return static_cast<Index>(std::max_element(best_.begin(), best_.end()) - best_.begin());
}

// The first place in its block where `reaches` holds, which rounding may deny to all: then the last.
template <class Reaches>
Index first_place(Index block, const Reaches& reaches) {
  Index place = block * kBlock;
  for (const Index last = place + kBlock - 1; place < last; ++place)
    if (reaches(place)) break;
  return place;
}

// As large as the largest, but for rounding.
template <class S>
S nearly(S largest) {
  return largest * (1 - 8 * std::numeric_limits<S>::epsilon());
}

template <class S>
Index WorkingSet<S>::solve(bool balanced, double tolerance, Index max_steps) {
  return balanced ? solve_pairs(static_cast<S>(tolerance), max_steps)
                  : solve_singles(static_cast<S>(tolerance), max_steps);
}

template <class S>
Index WorkingSet<S>::solve_pairs(S tolerance, Index max_steps) {
  constexpr S kNever = std::numeric_limits<S>::infinity();
  S* const r = residual_.data();
  vmath::smo_move_pair(r, row(0), S(0), row(0), S(0), up_.data(), stride_, best_.data());
  for (Index steps = 0; steps < max_steps; ++steps) {
    const Index rising = block_of_best();
    const S highest = best_[static_cast<std::size_t>(rising)];
    const Index i =
        first_place(rising, [&](Index k) { return r[k] - up_[static_cast<std::size_t>(k)] >= highest; });
    if (up_[static_cast<std::size_t>(i)] == kNever) return steps;
    const S* const k_i = row(i);
    const S rise = r[i] - up_[static_cast<std::size_t>(i)], k_ii = diagonal_[static_cast<std::size_t>(i)];
    const S widest =
        vmath::smo_pair_gain(r, down_.data(), k_i, diagonal_.data(), rise, k_ii, stride_, best_.data());
    if (!(widest > tolerance)) return steps;
    const auto curvature = [&](Index k) {
      return std::max(k_ii + diagonal_[static_cast<std::size_t>(k)] - 2 * k_i[k], vmath::kCurvature<S>);
    };
    const auto apart = [&](Index k) { return rise - r[k] + down_[static_cast<std::size_t>(k)]; };
    const Index falling = block_of_best();
    const S gain = nearly(best_[static_cast<std::size_t>(falling)]);
    const Index j = first_place(falling, [&](Index k) {
      const S open = std::max(apart(k), S(0));
      return open * open >= gain * curvature(k);
    });
    if (i == j || down_[static_cast<std::size_t>(j)] == -kNever) return steps;

    const auto up = static_cast<std::size_t>(i), down = static_cast<std::size_t>(j);
    const double room_up = ceiling(up) - c_[up], room_down = c_[down] - floor(down);
    const double wanted = static_cast<double>(apart(j)) / static_cast<double>(curvature(j));
    const double step = std::min({wanted, room_up, room_down});
    move(i, step < room_up ? c_[up] + step : ceiling(up));
    move(j, step < room_down ? c_[down] - step : floor(down));
    vmath::smo_move_pair(r, k_i, static_cast<S>(step), row(j), static_cast<S>(-step), up_.data(), stride_,
                         best_.data());
  }
  return max_steps;
}

template <class S>
Index WorkingSet<S>::solve_singles(S tolerance, Index max_steps) {
  S* const r = residual_.data();
  const auto moved_by = [&](Index i, S step) {
    return vmath::smo_move_single(r, row(i), step, up_.data(), down_.data(), diagonal_.data(), stride_,
                                  best_.data());
  };
  S widest = moved_by(0, S(0));
  for (Index steps = 0; steps < max_steps; ++steps) {
    if (!(widest > tolerance)) return steps;
    const Index block = block_of_best();
    const S gain = nearly(best_[static_cast<std::size_t>(block)]);
    const Index i = first_place(block, [&](Index k) {
      const auto p = static_cast<std::size_t>(k);
      const S open = std::max({r[k] - up_[p], down_[p] - r[k], S(0)});
      return open * open >= gain * std::max(diagonal_[p], vmath::kCurvature<S>);
    });
    const auto k = static_cast<std::size_t>(i);
    if (i >= n_) return steps;
    const bool grows = r[i] - up_[k] > down_[k] - r[i];
    const S slope = grows ? r[i] - up_[k] : r[i] - down_[k];
    const double wanted = c_[k] + static_cast<double>(slope) /
                                      static_cast<double>(std::max(diagonal_[k], vmath::kCurvature<S>));
    const double to = grows ? std::min(wanted, ceiling(k)) : std::max(wanted, floor(k));
    const double step = to - c_[k];
    move(i, to);
    widest = moved_by(i, static_cast<S>(step));
  }
  return max_steps;
}

template class WorkingSet<double>;
template class WorkingSet<float>;

}  // namespace grls
