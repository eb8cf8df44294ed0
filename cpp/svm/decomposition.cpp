#include "svm/decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/vmath.hpp"
#include "svm/active_set.hpp"
#include "svm/working_set.hpp"

namespace grls {
namespace {

constexpr Index kWorkingSet = 512, kFirstSet = 64;
constexpr Index kFewestJoining = 32;   // samples that may join a working set in any round
constexpr double kAtBound = 1e-12;     // of their distance: coefficients nearer to a bound are at it
constexpr double kInner = 0.01;        // a round ends when its set violates the conditions so much less
constexpr Index kStepsPerMember = 16;  // of a round, at most
constexpr Index kColumns = 2048;       // of the gradient that a task brings up to date: they stay in cache
constexpr Index kFirstAttempt = 12;    // the round after which an active set is tried
constexpr Index kMostMembers = 400;    // that it may have
constexpr Index kFewSamples = 1000;    // up to here it may have as many at the start
constexpr int kPatience = 60;          // rounds without a better gap, then rounding errors have the word

template <class S>
class Decomposition {
 public:
  Decomposition(const Context& context, const SvmQp& qp, bool balanced, KernelRows<S>& rows,
                const NativeOptions& options)
      : context_(context),
        qp_(qp),
        balanced_(balanced),
        options_(options),
        m_(qp.t.size()),
        members_(std::min(kWorkingSet, m_)),
        rows_(rows),
        V_(qp.U.rightCols(qp.U.cols() - (balanced ? 1 : 0))) {
    c_ = Vector<double>::Zero(m_);
    image_ = Vector<double>::Zero(m_);
    s_ = kept_ = Vector<double>::Zero(V_.cols());
    if (V_.cols() > 0) choose_penalty();
  }

  void start_at(const Vector<double>& c) {
    c_ = c.cwiseMax(qp_.lower).cwiseMin(qp_.upper);
    // What rounding has left between a coefficient and its bound would count as room for a step.
    for (Index i = 0; i < m_; ++i) {
      const double near = kAtBound * (qp_.upper[i] - qp_.lower[i]);
      if (!std::isfinite(near)) continue;
      if (c_[i] - qp_.lower[i] <= near) c_[i] = qp_.lower[i];
      if (qp_.upper[i] - c_[i] <= near) c_[i] = qp_.upper[i];
    }
    if (balanced_) balance();
    shift_image(c_);
    s_ = V_.transpose() * c_;
  }

  // The best point along a direction with Uᵀc = 0.
  void start_along(const Vector<double>& direction) {
    double room = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < m_; ++i) {
      if (direction[i] > 0) room = std::min(room, qp_.upper[i] / direction[i]);
      if (direction[i] < 0) room = std::min(room, qp_.lower[i] / direction[i]);
    }
    shift_image(direction);
    const double curvature = direction.dot(image_), slope = qp_.t.dot(direction);
    const double step = curvature * room > slope ? slope / curvature : room;
    c_ = (step * direction).cwiseMax(qp_.lower).cwiseMin(qp_.upper);
    image_ *= step;
    s_ = V_.transpose() * c_;
    is_along_ = true;
  }

  // Whether an active set of at most so many members solves the problem from here.
  bool finish(Index members, double tolerance, Index& rounds) {
    ActiveSetOptions options;
    options.tolerance = tolerance;
    options.max_members = std::min(members, rows_.capacity());
    options.max_rounds = options_.max_rounds - rounds;
    ActiveSetPoint point{c_, gamma_, image_, certificate_};
    const ActiveSetResult result = active_set(context_, qp_, rows_, options, point);
    rounds += result.rounds;
    if (!result.converged && !(point.certificate.infeasibility < 1e-6)) return false;
    c_ = point.c;
    gamma_ = point.gamma;
    image_ = point.image;
    certificate_ = point.certificate;
    s_ = V_.transpose() * c_;
    kept_ = gamma_.tail(V_.cols());
    if (!result.converged) return false;
    // What rounding has left of Uᵀc goes where it costs least, unless that costs more than it is worth: where
    // gamma is large the smallest change of c is none of the model function.
    const Vector<double> before = c_, image = image_;
    c_ = restored(qp_, before);
    shift_image(c_ - before);
    certificate_ = certify(qp_, c_, image_, gamma_);
    if (!(certificate_.relative() <= tolerance)) {
      c_ = before;
      image_ = image;
      certificate_ = point.certificate;
    }
    s_ = V_.transpose() * c_;
    return true;
  }

  // Uᵀc = 0 by a small change, if the bounds allow it.
  bool restore() {
    const Vector<double> c = restored(qp_, c_);
    const Vector<double> s = qp_.U.transpose() * c;
    if (!(s.norm() <= 1e-9 * c.norm())) return false;
    shift_image(c - c_);
    c_ = c;
    s_ = V_.transpose() * c_;
    look();
    return true;
  }

  NativeSolution run() {
    NativeSolution out;
    if (is_along_) {
      look();
      out.converged =
          finish(m_ <= kFewSamples ? kMostMembers : 3 * qp_.U.cols() + 40, options_.tolerance, out.rounds);
    }
    double best = std::numeric_limits<double>::infinity();
    int stalled = 0;
    Index next_attempt = kFirstAttempt + out.rounds;
    for (; !out.converged; ++out.rounds) {
      context_.poll();
      look();
      if (done()) {
        out.converged = true;
        break;
      }
      if (V_.cols() > 0 && !direct_ && !std::isfinite(qp_.tau) && qp_.is_plain() &&
          out.rounds >= next_attempt) {
        next_attempt = 2 * out.rounds;
        if (restore() && finish(kMostMembers, options_.tolerance, out.rounds)) {
          out.converged = true;
          break;
        }
        look();
      }
      const double left = std::max(certificate_.relative(), certificate_.infeasibility);
      stalled = left < 0.99 * best ? 0 : stalled + 1;
      best = std::min(best, left);
      out.out_of_work = work_ > options_.max_work;
      if (out.out_of_work || out.rounds >= options_.max_rounds || stalled > kPatience) break;
      if (multipliers_due()) {
        update_multipliers();
        look();
      }
      if (violation_ > 0) round();
    }
    if (out.converged && options_.restores && V_.cols() > 0 && !std::isfinite(qp_.tau)) restore();
    if (out.converged && certificate_.relative() > options_.exact && options_.exact > 0)
      out.converged = finish(kMostMembers, options_.exact, out.rounds);
    out.c = c_;
    out.gamma = gamma_;
    out.image = image_;
    out.certificate = certificate_;
    return out;
  }

 private:
  // As large as the kernel itself at an average sample.
  void choose_penalty() {
    const Index step = std::max<Index>(1, m_ / 16);
    double sum = 0, count = 0;
    for (Index i = 0; i < m_; i += step, ++count) sum += std::abs(rows_.diagonal(i));
    // A coefficient that goes all the way to C changes the model function by C times the penalty: with a
    // small C the penalty must be large to make a difference to a margin of one.
    const double size = sum / count + 1 / (qp_.upper - qp_.lower).mean();
    rho_ = size * static_cast<double>(m_) / static_cast<double>(V_.cols());
    direct_ = qp_.tau <= 4 * rho_;  // the prior is a penalty already
    weigh();
  }

  void weigh() {
    penalty_ = direct_ ? qp_.tau : 1 / (1 / rho_ + 1 / qp_.tau);
    share_ = direct_ ? 0 : penalty_ / rho_;
  }

  // What the features' coefficients are now: those kept, and what the penalty adds.
  Vector<double> coordinates() const { return share_ * kept_ + penalty_ * s_; }

  // Residuals, the violation of the optimality conditions, and the gap.
  void look() {
    const Vector<double> v = coordinates();
    residual_ = qp_.t - image_ - V_ * v;
    highest_ = -std::numeric_limits<double>::infinity();
    lowest_ = std::numeric_limits<double>::infinity();
    if (!qp_.is_plain()) lean();
    for (Index i = 0; i < m_; ++i) {
      if (c_[i] < qp_.upper[i]) highest_ = std::max(highest_, rise(i));
      if (c_[i] > qp_.lower[i]) lowest_ = std::min(lowest_, fall(i));
    }
    gamma_.resize(qp_.U.cols());
    gamma_.tail(V_.cols()) = v;
    if (balanced_) {
      violation_ = highest_ - lowest_;
      gamma_[0] = 0.5 * (highest_ + lowest_) / qp_.U(0, 0);
    } else {
      violation_ = std::max({highest_, -lowest_, 0.0});
    }
    certificate_ = certify(qp_, c_, image_, gamma_);
  }

  // What g of each coefficient takes from its residual where it grows, and where it shrinks.
  void lean() {
    up_.resize(m_);
    down_.resize(m_);
    for (Index i = 0; i < m_; ++i) {
      up_[i] = qp_.slope_up(i, c_[i]);
      down_[i] = qp_.slope_down(i, c_[i]);
    }
  }

  double rise(Index i) const { return qp_.is_plain() ? residual_[i] : residual_[i] - up_[i]; }
  double fall(Index i) const { return qp_.is_plain() ? residual_[i] : residual_[i] - down_[i]; }

  bool is_feasible() const { return certificate_.infeasibility <= 1e-9; }

  bool done() {
    if (!(certificate_.relative() <= options_.tolerance)) return false;
    if (is_feasible()) return true;
    if (s_.norm() > restorable_) return false;
    // Nearly so: a small change that makes Vᵀc = 0, if the gap stands it.
    const Vector<double> c = c_, image = image_, s = s_;
    c_ = restored(qp_, c);
    shift_image(c_ - c);
    s_ = V_.transpose() * c_;
    look();
    if (certificate_.relative() <= options_.tolerance && is_feasible()) return true;
    restorable_ = 0.2 * s.norm();
    c_ = c;
    image_ = image;
    s_ = s;
    look();
    return false;
  }

  bool multipliers_due() const {
    if (V_.cols() == 0 || direct_) return false;
    const double change = (V_ * (coordinates() - kept_)).cwiseAbs().maxCoeff();
    return violation_ <= 0.5 * change;
  }

  void update_multipliers() {
    const double left = (coordinates() - kept_).norm();
    kept_ = coordinates();
    if (left > 0.25 * last_left_ * (rho_ / last_rho_)) rho_ *= 2;
    last_left_ = left;
    last_rho_ = rho_;
    weigh();
  }

  void round() {
    choose();
    const auto rows = rows_.fetch(context_, set_);
    const auto n = static_cast<Index>(set_.size());
    fill_set(rows, n);
    for (Index k = 0; k < n; ++k) {
      const Index i = member(k);
      if (qp_.is_plain()) {
        set_problem_.set(k, c_[i], qp_.lower[i], qp_.upper[i], residual_[i]);
      } else {
        set_problem_.set(k, c_[i], qp_.lower[i], qp_.upper[i], residual_[i], qp_.kappa_up[i],
                         qp_.kappa_down[i], qp_.epsilon[i]);
      }
    }
    const Index steps_done = set_problem_.solve(balanced_, kInner * violation_, kStepsPerMember * n);

    std::vector<const S*> moved;
    std::vector<double> steps;
    for (Index k = 0; k < n; ++k) {
      const Index i = member(k);
      const double step = set_problem_.c(k) - c_[i];
      if (step == 0) continue;
      c_[i] = set_problem_.c(k);
      s_ += step * V_.row(i).transpose();
      moved.push_back(rows[static_cast<std::size_t>(k)]);
      steps.push_back(step);
    }
    add_to_image(moved, steps);
    work_ += static_cast<double>(steps_done * n) +
             static_cast<double>(m_) * static_cast<double>(static_cast<Index>(moved.size()) + V_.cols());
  }

  // K + ρVVᵀ within the set; what two members had in the last round as well is there already.
  void fill_set(const std::vector<const S*>& rows, Index n) {
    const Index kept = penalty_ == set_penalty_ ? stayed_ : 0;
    set_penalty_ = penalty_;
    set_problem_.resize(n, kept);
    parallel_for(context_, n - kept, workers_for(context_, 4.0 * static_cast<double>((n - kept) * n)),
                 [&](Index k, const Worker&) {
                   S* const to = set_problem_.row(kept + k);
                   const S* const from = rows[static_cast<std::size_t>(kept + k)];
                   for (Index j = 0; j < n; ++j) to[j] = from[member(j)];
                 });
    if (V_.cols() > 0 && kept < n) {
      Matrix<S> features(V_.cols(), n);
      for (Index k = 0; k < n; ++k) features.col(k) = V_.row(member(k)).transpose().template cast<S>();
      blas::gemm<S>(blas::Op::transpose, blas::Op::none, n, n - kept, V_.cols(), static_cast<S>(penalty_),
                    features.data(), V_.cols(), features.col(kept).data(), V_.cols(), S(1),
                    set_problem_.row(kept), set_problem_.stride());
    }
    for (Index j = 0; j < kept; ++j)
      for (Index k = kept; k < n; ++k) set_problem_.row(j)[k] = set_problem_.row(k)[j];
  }

  Index member(Index k) const { return set_[static_cast<std::size_t>(k)]; }

  // The younger half of the last set, and the samples that violate the conditions most on either side.
  void choose() {
    // Small sets first: as long as little is known, most of what they hold will turn out to matter little.
    // Nor do more join than have turned out to matter: where few do, most kernel rows are never needed.
    target_ = std::min(members_, 2 * target_);
    const auto used = std::count_if(set_.begin(), set_.end(), [&](Index i) { return c_[i] != 0; });
    const Index most = set_.empty() ? kFirstSet : std::max<Index>(kFewestJoining, used);
    IndexList next;
    chosen_.assign(static_cast<std::size_t>(m_), false);
    const auto take = [&](Index i) {
      chosen_[static_cast<std::size_t>(i)] = true;
      next.push_back(i);
    };
    const Index kept = std::min<Index>(static_cast<Index>(set_.size()), target_ / 2);
    for (auto k = static_cast<Index>(set_.size()) - kept; k < static_cast<Index>(set_.size()); ++k)
      take(member(k));

    stayed_ = kept;
    const double up_from = balanced_ ? lowest_ : 0, down_from = balanced_ ? highest_ : 0;
    const Index wanted = std::min(target_ - kept, most);
    for (const bool up : {true, false}) {
      IndexList& found = candidates_;
      found.clear();
      for (Index i = 0; i < m_; ++i) {
        if (chosen_[static_cast<std::size_t>(i)]) continue;
        if (up ? c_[i] < qp_.upper[i] && rise(i) > up_from : c_[i] > qp_.lower[i] && fall(i) < down_from)
          found.push_back(i);
      }
      const auto first = [&](Index a, Index b) {
        const double of_a = up ? rise(a) : -fall(a), of_b = up ? rise(b) : -fall(b);
        return of_a != of_b ? of_a > of_b : a < b;
      };
      const auto count = std::min<std::size_t>(
          found.size(),
          static_cast<std::size_t>(up ? (wanted + 1) / 2 : kept + wanted - static_cast<Index>(next.size())));
      if (count < found.size())
        std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                         first);
      found.resize(count);
      std::sort(found.begin(), found.end());
      for (const Index i : found) take(i);
    }
    set_ = std::move(next);
  }

  // image += Σ_k steps_k rows_k
  void add_to_image(const std::vector<const S*>& rows, const std::vector<double>& steps) {
    const auto n = static_cast<Index>(rows.size());
    const double work = static_cast<double>(n) * static_cast<double>(m_);
    parallel_for(context_, (m_ + kColumns - 1) / kColumns, workers_for(context_, work),
                 [&](Index t, const Worker&) {
                   const Index first = t * kColumns;
                   vmath::add_rows(image_.data() + first, rows.data(), steps.data(), n, first,
                                   std::min(kColumns, m_ - first));
                 });
  }

  // image += Φ·change, in as many parts as the cache asks for.
  void shift_image(const Vector<double>& change) {
    IndexList places;
    std::vector<double> steps;
    const auto flush = [&] {
      add_to_image(rows_.fetch(context_, places), steps);
      places.clear();
      steps.clear();
      context_.poll();
    };
    for (Index i = 0; i < m_; ++i) {
      if (change[i] == 0) continue;
      places.push_back(i);
      steps.push_back(change[i]);
      if (static_cast<Index>(places.size()) == members_) flush();
    }
    if (!places.empty()) flush();
  }

  // Σc = 0 by shrinking the side that outweighs the other.
  void balance() {
    const double up = c_.cwiseMax(0.0).sum(), down = -c_.cwiseMin(0.0).sum();
    const double ratio = up > down ? down / up : (down > 0 ? up / down : 1);
    if (ratio >= 1 - kAtBound) return;  // it is, but for rounding
    for (double& value : c_)
      if ((value > 0) == (up > down)) value *= ratio;
  }

  const Context& context_;
  const SvmQp& qp_;
  const bool balanced_;
  const NativeOptions options_;
  const Index m_, members_;       // samples; the largest working set
  Index target_ = kFirstSet / 2;  // the size of the working set now
  KernelRows<S>& rows_;
  const Matrix<double> V_;  // the features but the constant
  double rho_ = 1, penalty_ = 0, share_ = 1;
  bool direct_ = false, is_along_ = false;
  double last_left_ = std::numeric_limits<double>::infinity(), last_rho_ = 1;
  Vector<double> c_, image_, residual_, gamma_;
  Vector<double> up_, down_;  // slopes of g, where there is one
  Vector<double> s_, kept_;   // Vᵀc; multipliers
  double highest_ = 0, lowest_ = 0, violation_ = 0;
  double restorable_ = std::numeric_limits<double>::infinity();  // |Vᵀc| from which on done() tries
  Certificate certificate_;
  double work_ = 0;
  IndexList set_, candidates_;
  std::vector<bool> chosen_;
  WorkingSet<S> set_problem_;
  Index stayed_ = 0;         // members of the set that were in the last one, first in this one
  double set_penalty_ = -1;  // that is part of the set's matrix
};

}  // namespace

template <class S>
KernelRows<S> decomposition_rows(const Context& context, const GramSource& source, const IndexList& order,
                                 double cache_bytes) {
  return KernelRows<S>(context, source, order, cache_bytes,
                       std::min(kWorkingSet, static_cast<Index>(order.size())));
}

template <class S>
NativeSolution decompose(const Context& context, const SvmQp& qp, bool balanced, const GramSource& source,
                         const IndexList& order, const NativeOptions& options, const Vector<double>& start,
                         const Vector<double>& direction) {
  KernelRows<S> rows = decomposition_rows<S>(context, source, order, options.cache_bytes);
  return decompose(context, qp, balanced, rows, options, start, direction);
}

template <class S>
NativeSolution decompose(const Context& context, const SvmQp& qp, bool balanced, KernelRows<S>& rows,
                         const NativeOptions& options, const Vector<double>& start,
                         const Vector<double>& direction) {
  Decomposition<S> method(context, qp, balanced, rows, options);
  if (start.size() > 0) {
    method.start_at(start);
  } else if (direction.size() > 0) {
    method.start_along(direction);
  }
  return method.run();
}

template NativeSolution decompose<double>(const Context&, const SvmQp&, bool, const GramSource&,
                                          const IndexList&, const NativeOptions&, const Vector<double>&,
                                          const Vector<double>&);
template NativeSolution decompose<float>(const Context&, const SvmQp&, bool, const GramSource&,
                                         const IndexList&, const NativeOptions&, const Vector<double>&,
                                         const Vector<double>&);

template KernelRows<double> decomposition_rows(const Context&, const GramSource&, const IndexList&, double);
template KernelRows<float> decomposition_rows(const Context&, const GramSource&, const IndexList&, double);
template NativeSolution decompose<double>(const Context&, const SvmQp&, bool, KernelRows<double>&,
                                          const NativeOptions&, const Vector<double>&, const Vector<double>&);
template NativeSolution decompose<float>(const Context&, const SvmQp&, bool, KernelRows<float>&,
                                         const NativeOptions&, const Vector<double>&, const Vector<double>&);

double decomposition_bytes(Index m, double cache_bytes) {
  const double members = static_cast<double>(std::min(kWorkingSet, m));
  return KernelRows<double>::bytes(m, cache_bytes, std::min(kWorkingSet, m)) + 2 * 8 * members * members;
}

}  // namespace grls
