#include "svm/active_set.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "base/vmath.hpp"

namespace grls {
namespace {

constexpr double kProximal = 1e-7;   // δ, in units of what members give to its place
constexpr double kLeast = 1e-5;      // of that
constexpr double kFeasible = 1e-9;   // |Uᵀc| / |c|
constexpr double kSettled = 1e-10;   // a residual of a member that is rounding
constexpr int kPatience = 40;        // rounds without a better gap
constexpr Index kFewestJoining = 4;  // violators that join at a time, or a share of the members
constexpr Index kShareJoining = 3;

template <class S>
class ActiveSet {
 public:
  ActiveSet(const Context& context, const SvmQp& qp, KernelRows<S>& rows, const ActiveSetOptions& options,
            ActiveSetPoint& point)
      : context_(context),
        qp_(qp),
        rows_(rows),
        options_(options),
        point_(point),
        m_(qp.t.size()),
        r_(qp.U.cols()) {
    double sum = 0;
    const Index step = std::max<Index>(1, m_ / 16);
    Index count = 0;
    for (Index i = 0; i < m_; i += step, ++count) sum += std::abs(rows_.diagonal(i));
    size_ = std::max(sum / static_cast<double>(count), 1e-300);
    delta_ = kProximal * static_cast<double>(r_) / (static_cast<double>(m_) * size_);
    first_delta_ = delta_;
    anchor_ = point.gamma;
    for (Index i = 0; i < m_; ++i)
      if (is_inside(i)) members_.push_back(i);
  }

  ActiveSetResult run() {
    ActiveSetResult out;
    if (n() > options_.max_members) return out;
    refactor();
    look();
    Index joining = std::max(kFewestJoining, n() / kShareJoining);
    double best = point_.certificate.relative();
    int stalled = 0;
    for (; out.rounds < options_.max_rounds; ++out.rounds) {
      context_.poll();
      const double change = descend();
      look();
      const Certificate& now = point_.certificate;
      out.converged = now.relative() <= options_.tolerance && now.infeasibility <= kFeasible;
      if (out.converged || n() > options_.max_members) break;
      stalled = now.relative() < 0.999 * best ? 0 : stalled + 1;
      best = std::min(best, now.relative());
      if (stalled > kPatience || !std::isfinite(change)) break;
      const bool settled = inner_ <= std::max(0.1 * outer_, kSettled);
      if (!settled && ++unsettled_ > 3) break;
      if (!settled) {
        refactor();
        continue;
      }
      unsettled_ = 0;
      joining = change > 0 && stalled < kPatience / 4 ? std::max(kFewestJoining, n() / kShareJoining) : 1;
      // All is well but for what δ allows: from here on it allows as much less.
      if (now.relative() <= options_.tolerance || !join(joining)) {
        anchor_ = point_.gamma;
        delta_ = std::max(kLeast * first_delta_, 0.1 * delta_);
        refactor();
      }
    }
    return out;
  }

 private:
  Index n() const { return static_cast<Index>(members_.size()); }
  Index member(Index k) const { return members_[static_cast<std::size_t>(k)]; }
  bool is_inside(Index i) const { return point_.c[i] > qp_.lower[i] && point_.c[i] < qp_.upper[i]; }

  // The matrix of the members and its inverse, afresh.
  void refactor() {
    const Index n = this->n();
    Matrix<double> A = Matrix<double>::Zero(r_ + n, r_ + n);
    A.topLeftCorner(r_, r_).diagonal().setConstant(-delta_);
    const auto rows = rows_.fetch(context_, members_);
    for (Index k = 0; k < n; ++k) {
      A.block(0, r_ + k, r_, 1) = qp_.U.row(member(k)).transpose();
      A.block(r_ + k, 0, 1, r_) = qp_.U.row(member(k));
      for (Index j = 0; j <= k; ++j)
        A(r_ + k, r_ + j) = A(r_ + j, r_ + k) =
            static_cast<double>(rows[static_cast<std::size_t>(k)][member(j)]);
      A(r_ + k, r_ + k) *= 1 + ridge();
    }
    inverse_ = A.partialPivLu().inverse();
  }

  static double ridge() { return sizeof(S) == 4 ? 1e-6 : 1e-12; }

  // Steps of the members until none is stopped by a bound; the image then follows. Returns how much moved.
  double descend() {
    const Vector<double> before = point_.c;
    Vector<double> rhs(r_ + n());
    rhs.head(r_) = delta_ * (point_.gamma - anchor_) - qp_.U.transpose() * point_.c;
    for (Index k = 0; k < n(); ++k) rhs[r_ + k] = residual_[member(k)];
    double moved = 0;
    for (;;) {
      const Vector<double> d = inverse_ * rhs;
      double step = 1;
      Index stop = -1;
      for (Index k = 0; k < n(); ++k) {
        const Index i = member(k);
        const double dc = d[r_ + k];
        const double room = dc > 0 ? qp_.upper[i] - point_.c[i] : qp_.lower[i] - point_.c[i];
        if (dc != 0 && room / dc < step) {
          step = std::max(0.0, room / dc);
          stop = k;
        }
      }
      if (!std::isfinite(step) || !d.allFinite()) return std::numeric_limits<double>::quiet_NaN();
      point_.gamma += step * d.head(r_);
      for (Index k = 0; k < n(); ++k) point_.c[member(k)] += step * d[r_ + k];
      moved += step * d.squaredNorm();
      rhs *= 1 - step;
      if (stop < 0) break;
      const Index i = member(stop);
      point_.c[i] = d[r_ + stop] > 0 ? qp_.upper[i] : qp_.lower[i];
      leave(stop, rhs);
      if (members_.empty()) break;
    }
    shift_image(point_.c - before);
    return moved;
  }

  void leave(Index k, Vector<double>& rhs) {
    const Index place = r_ + k, last = inverse_.rows() - 1;
    const Vector<double> column = inverse_.col(place);
    const double pivot = column[place];
    if (pivot != 0) inverse_ -= column * (column / pivot).transpose();
    // The last one takes its place.
    inverse_.col(place) = inverse_.col(last);
    inverse_.row(place) = inverse_.row(last);
    inverse_.conservativeResize(last, last);
    rhs[place] = rhs[last];
    rhs.conservativeResize(last);
    members_[static_cast<std::size_t>(k)] = members_.back();
    members_.pop_back();
  }

  // The worst violators; false where there are none.
  bool join(Index most) {
    std::vector<bool> taken(static_cast<std::size_t>(m_), false);
    for (const Index i : members_) taken[static_cast<std::size_t>(i)] = true;
    IndexList found;
    for (Index i = 0; i < m_; ++i)
      if (!taken[static_cast<std::size_t>(i)] && violation(i) > 0) found.push_back(i);
    if (found.empty()) return false;
    const auto worse = [&](Index a, Index b) {
      const double x = violation(a), y = violation(b);
      return x != y ? x > y : a < b;
    };
    const auto count = std::min(found.size(), static_cast<std::size_t>(most));
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(), worse);
    found.resize(count);
    const auto rows = rows_.fetch(context_, found);
    for (std::size_t k = 0; k < count; ++k) border(found[k], rows[k]);
    return true;
  }

  void border(Index i, const S* row) {
    const Index size = r_ + n();
    Vector<double> v(size);
    v.head(r_) = qp_.U.row(i).transpose();
    for (Index k = 0; k < n(); ++k) v[r_ + k] = static_cast<double>(row[member(k)]);
    const Vector<double> h = inverse_ * v;
    const double diagonal = static_cast<double>(row[i]);
    const double pivot =
        std::max(diagonal * (1 + ridge()) - v.dot(h), ridge() * std::max(diagonal, 1e-3 * size_));
    inverse_ += h * (h / pivot).transpose();
    inverse_.conservativeResize(size + 1, size + 1);
    inverse_.col(size).head(size) = -h / pivot;
    inverse_.row(size).head(size) = -h.transpose() / pivot;
    inverse_(size, size) = 1 / pivot;
    members_.push_back(i);
  }

  double violation(Index i) const {
    if (residual_[i] > 0 && point_.c[i] < qp_.upper[i]) return residual_[i];
    if (residual_[i] < 0 && point_.c[i] > qp_.lower[i]) return -residual_[i];
    return 0;
  }

  // Residuals, what the members and the others violate, and the gap.
  void look() {
    residual_ = qp_.t - point_.image - qp_.U * point_.gamma;
    inner_ = outer_ = 0;
    for (const Index i : members_) inner_ = std::max(inner_, std::abs(residual_[i]));
    for (Index i = 0; i < m_; ++i) outer_ = std::max(outer_, violation(i));
    point_.certificate = certify(qp_, point_.c, point_.image, point_.gamma);
  }

  void shift_image(const Vector<double>& change) {
    IndexList places;
    std::vector<double> steps;
    const auto flush = [&] {
      const auto rows = rows_.fetch(context_, places);
      vmath::add_rows(point_.image.data(), rows.data(), steps.data(), static_cast<Index>(steps.size()),
                      Index(0), m_);
      places.clear();
      steps.clear();
    };
    for (Index i = 0; i < m_; ++i) {
      if (change[i] == 0) continue;
      places.push_back(i);
      steps.push_back(change[i]);
      if (static_cast<Index>(places.size()) == rows_.capacity()) flush();
    }
    if (!places.empty()) flush();
  }

  const Context& context_;
  const SvmQp& qp_;
  KernelRows<S>& rows_;
  const ActiveSetOptions options_;
  ActiveSetPoint& point_;
  const Index m_, r_;
  double size_ = 1, delta_ = 0, first_delta_ = 0;  // of the kernel; δ
  IndexList members_;
  Matrix<double> inverse_;            // gamma first, then the members
  Vector<double> residual_, anchor_;  // Uᵀc = δ(gamma - anchor)
  double inner_ = 0, outer_ = 0;      // violations of members; of all
  int unsettled_ = 0;
};

}  // namespace

template <class S>
ActiveSetResult active_set(const Context& context, const SvmQp& qp, KernelRows<S>& rows,
                           const ActiveSetOptions& options, ActiveSetPoint& point) {
  return ActiveSet<S>(context, qp, rows, options, point).run();
}

template ActiveSetResult active_set<double>(const Context&, const SvmQp&, KernelRows<double>&,
                                            const ActiveSetOptions&, ActiveSetPoint&);
template ActiveSetResult active_set<float>(const Context&, const SvmQp&, KernelRows<float>&,
                                           const ActiveSetOptions&, ActiveSetPoint&);

}  // namespace grls
