#include "svm/active_set.hpp"

#include <algorithm>
#include <cmath>

#include "base/blas.hpp"
#include "base/vmath.hpp"
#include "matrices/small_systems.hpp"

namespace grls {
namespace {

constexpr double kProximal = 1e-7;     // δ, in units of what members give to its place
constexpr double kLeast = 1e-5;        // of that
constexpr double kFeasible = 1e-9;     // |Uᵀc| / |c|
constexpr double kLeverage = 0.5;      // of a row, from which on the basis is made for the others
constexpr double kReach = 1e6;         // how small beside that row what others have of it may be
constexpr double kAcross = 0.1;        // of the gap allowed: what gammaᵀUᵀc may take,
constexpr double kLeastAcross = 1e-5;  // and what it is brought down to,
constexpr double kLeastGap = 1e-10;    // of a gap not below that
constexpr double kRounding = 1e-15;    // of a relative gap
constexpr int kPolish = 3;             // in so many rounds
constexpr double kRefined = 1e-9;      // what a solution may leave of its right-hand side
constexpr double kSettled = 1e-10;     // a residual of a member that is rounding
constexpr int kPatience = 40;          // rounds without a better gap
constexpr Index kFewestJoining = 4;    // violators that join at a time, or a share of the members
constexpr Index kShareJoining = 3;

// A basis in which no direction is large at a few rows alone: gamma = to_gamma · (coefficients in it). A
// topic or an indicator that is one at a row and next to nothing elsewhere takes a direction of the
// orthonormal basis for itself, whose coefficient may be as large as those traces are small. Rows of unit
// length have the same say in all directions (Tyler, A distribution-free M-estimator of multivariate scatter,
// 1987).
Matrix<double> even_basis(const Matrix<double>& U) {
  const Index m = U.rows(), r = U.cols();
  Matrix<double> to_gamma = Matrix<double>::Identity(r, r);
  if (r < 2) return to_gamma;
  Matrix<double> V = U;
  Vector<double> sizes = V.rowwise().norm();
  if (sizes.cwiseAbs2().maxCoeff() < kLeverage * sizes.squaredNorm() / static_cast<double>(r))
    return to_gamma;
  double reach = 1;
  for (int k = 0; k < 20; ++k) {
    Matrix<double> even = V;
    for (Index i = 0; i < m; ++i) even.row(i) *= sizes[i] > 0 ? 1 / sizes[i] : 0;
    Vector<double> tau(r);
    blas::geqrf(m, r, even.data(), m, tau.data());
    const double size = std::sqrt(static_cast<double>(r) / static_cast<double>(m));
    const Matrix<double> Rt = size * even.topRows(r).transpose();  // its lower triangle
    const Vector<double> pivots = Rt.diagonal().cwiseAbs();
    if (!(pivots.minCoeff() > 1e-6 * pivots.maxCoeff())) break;
    const double change = pivots.maxCoeff() / pivots.minCoeff();
    reach *= change;
    if (reach > kReach) break;
    blas::trsm_right_lower_transposed(r, r, Rt.data(), r, to_gamma.data(), r);
    blas::trsm_right_lower_transposed(m, r, Rt.data(), r, V.data(), m);
    sizes = V.rowwise().norm();
    if (change < 3) break;
  }
  return to_gamma;
}

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
        r_(qp.U.cols()),
        to_gamma_(even_basis(qp.U)),
        U_(qp.U * to_gamma_) {
    double sum = 0;
    const Index step = std::max<Index>(1, m_ / 16);
    Index count = 0;
    for (Index i = 0; i < m_; i += step, ++count) sum += std::abs(rows_.diagonal(i));
    size_ = std::max(sum / static_cast<double>(count), 1e-300);
    delta_ = kProximal * static_cast<double>(r_) / (static_cast<double>(m_) * size_);
    first_delta_ = delta_;
    scale_ = U_.rowwise().norm();
    const double usual = std::sqrt(static_cast<double>(r_) / static_cast<double>(m_));
    for (double& scale : scale_) scale = scale > usual ? usual / scale : 1;
    g_ = r_ > 0 ? Vector<double>(grls::solved(to_gamma_, point.gamma)) : Vector<double>(0);
    anchor_ = g_;
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
      const double across = now.across / (std::max(options_.tolerance, kLeastGap) * now.scale);
      out.converged = now.relative() <= options_.tolerance && now.infeasibility <= kFeasible &&
                      (across <= kLeastAcross || (across <= kAcross && ++polished_ > kPolish));
      if (out.converged || n() > options_.max_members) break;
      const double left = std::max(now.relative(), kRounding);
      stalled = left < 0.999 * best ? 0 : stalled + 1;
      best = std::min(best, left);
      if (stalled > kPatience || !std::isfinite(change)) break;
      const bool settled = inner_ <= std::max(0.1 * outer_, kSettled) || now.relative() <= options_.tolerance;
      if (!settled && ++unsettled_ > 3) break;
      if (!settled) {
        refactor();
        continue;
      }
      unsettled_ = 0;
      joining = change > 0 && stalled < kPatience / 4 ? std::max(kFewestJoining, n() / kShareJoining) : 1;
      // All is well but for what δ allows: from here on it allows as much less.
      if (now.relative() <= options_.tolerance || !join(joining)) {
        anchor_ = g_;
        lower_delta(std::max(kLeast * first_delta_, 0.1 * delta_));
      }
    }
    return out;
  }

 private:
  Index n() const { return static_cast<Index>(members_.size()); }
  Index member(Index k) const { return members_[static_cast<std::size_t>(k)]; }
  bool is_inside(Index i) const { return point_.c[i] > qp_.lower[i] && point_.c[i] < qp_.upper[i]; }

  // The matrix of gamma and the members, and its inverse: what they have of the room reserved.
  auto matrix() { return matrix_.topLeftCorner(r_ + n(), r_ + n()); }
  auto inverse() { return inverse_.topLeftCorner(r_ + n(), r_ + n()); }

  void reserve(Index size) {
    const Index old = matrix_.rows();
    if (size <= old) return;
    for (Matrix<double>* const room : {&matrix_, &inverse_}) {
      Matrix<double> larger(size + size / 2, size + size / 2);
      larger.topLeftCorner(old, old) = *room;
      room->swap(larger);
    }
  }

  // The matrix of the members and its inverse, afresh.
  void refactor() {
    const Index n = this->n();
    reserve(r_ + n);
    auto A = matrix();
    A.topLeftCorner(r_, r_).setZero();
    A.topLeftCorner(r_, r_).diagonal().setConstant(-delta_);
    const auto rows = rows_.fetch(context_, members_);
    for (Index k = 0; k < n; ++k) {
      const double scale = scale_[member(k)];
      A.block(0, r_ + k, r_, 1) = scale * U_.row(member(k)).transpose();
      A.block(r_ + k, 0, 1, r_) = scale * U_.row(member(k));
      for (Index j = 0; j <= k; ++j)
        A(r_ + k, r_ + j) = A(r_ + j, r_ + k) =
            scale * scale_[member(j)] * static_cast<double>(rows[static_cast<std::size_t>(k)][member(j)]);
      A(r_ + k, r_ + k) += ridge(member(k), rows[static_cast<std::size_t>(k)]);
    }
    invert();
  }

  void invert() {
    if (r_ + n() > 0) inverse() = inverse_of(matrix());
  }

  // The solution, refined: what rounding has done to the inverse is noticed, and then it is made afresh.
  Vector<double> solved(const Vector<double>& rhs) {
    Vector<double> out;
    for (const bool last : {false, true}) {
      out = inverse() * rhs;
      out += inverse() * (rhs - matrix() * out);
      const double left = (rhs - matrix() * out).cwiseAbs().maxCoeff();
      if (last || left <= kRefined * rhs.cwiseAbs().maxCoeff()) break;
      invert();
    }
    return out;
  }

  // Another δ: r diagonal elements of the matrix change.
  void lower_delta(double delta) {
    if (delta == delta_ || r_ == 0) return;
    const Matrix<double> across = inverse().leftCols(r_);
    Matrix<double> small = across.topRows(r_);
    small.diagonal().array() += 1 / (delta_ - delta);
    inverse().noalias() -= across * grls::solved(small, across.transpose());
    matrix().topLeftCorner(r_, r_).diagonal().setConstant(-delta);
    delta_ = delta;
  }

  // What keeps equal rows apart; a sample may have no kernel value at all.
  double ridge(Index i, const S* row) const {
    const double size = std::max(static_cast<double>(row[i]), 1e-3 * size_);
    return (sizeof(S) == 4 ? 1e-6 : 1e-12) * scale_[i] * scale_[i] * size;
  }

  // Steps of the members until none is stopped by a bound; the image then follows. Returns how much moved.
  double descend() {
    if (r_ + n() == 0) return 0;
    const Vector<double> before = point_.c;
    Vector<double> rhs(r_ + n());
    rhs.head(r_) = delta_ * (g_ - anchor_) - U_.transpose() * point_.c;
    for (Index k = 0; k < n(); ++k) rhs[r_ + k] = scale_[member(k)] * residual_[member(k)];
    double moved = 0;
    for (;;) {
      const Vector<double> d = solved(rhs);
      double step = 1;
      Index stop = -1;
      for (Index k = 0; k < n(); ++k) {
        const Index i = member(k);
        const double dc = scale_[i] * d[r_ + k];
        const double room = dc > 0 ? qp_.upper[i] - point_.c[i] : qp_.lower[i] - point_.c[i];
        if (dc != 0 && room / dc < step) {
          step = std::max(0.0, room / dc);
          stop = k;
        }
      }
      if (!std::isfinite(step) || !d.allFinite()) return std::numeric_limits<double>::quiet_NaN();
      g_ += step * d.head(r_);
      for (Index k = 0; k < n(); ++k) point_.c[member(k)] += step * scale_[member(k)] * d[r_ + k];
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
    auto all = inverse();
    const Index place = r_ + k, last = all.rows() - 1;
    const Vector<double> column = all.col(place);
    const double pivot = column[place];
    if (pivot != 0) all.noalias() -= column * (column / pivot).transpose();
    // The last one takes its place.
    auto A = matrix();
    for (auto* const part : {&all, &A}) {
      part->col(place) = part->col(last);
      part->row(place) = part->row(last);
    }
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
    v.head(r_) = scale_[i] * U_.row(i).transpose();
    for (Index k = 0; k < n(); ++k)
      v[r_ + k] = scale_[i] * scale_[member(k)] * static_cast<double>(row[member(k)]);
    const Vector<double> h = inverse() * v;
    const double least = ridge(i, row),
                 diagonal = scale_[i] * scale_[i] * static_cast<double>(row[i]) + least;
    const double pivot = std::max(diagonal - v.dot(h), least);
    inverse().noalias() += h * (h / pivot).transpose();
    reserve(size + 1);
    members_.push_back(i);
    auto A = matrix();
    A.col(size).head(size) = v;
    A.row(size).head(size) = v.transpose();
    A(size, size) = diagonal;
    auto all = inverse();
    all.col(size).head(size) = -h / pivot;
    all.row(size).head(size) = -h.transpose() / pivot;
    all(size, size) = 1 / pivot;
  }

  double violation(Index i) const {
    if (residual_[i] > 0 && point_.c[i] < qp_.upper[i]) return residual_[i];
    if (residual_[i] < 0 && point_.c[i] > qp_.lower[i]) return -residual_[i];
    return 0;
  }

  // Residuals, what the members and the others violate, and the gap.
  void look() {
    point_.gamma = to_gamma_ * g_;
    residual_ = qp_.t - point_.image - U_ * g_;
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
  Matrix<double> matrix_, inverse_;    // gamma first, then the members
  const Matrix<double> to_gamma_, U_;  // the basis of this method, gamma = to_gamma g
  Vector<double> g_, anchor_;          // Uᵀc = δ(g - anchor)
  Vector<double> scale_;               // of a member in the matrix: c is scale times its unknown
  Vector<double> residual_;
  double inner_ = 0, outer_ = 0;  // violations of members; of all
  int unsettled_ = 0, polished_ = 0;
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
