#include "conformal/pinball_path.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/errors.hpp"
#include "matrices/small_systems.hpp"

namespace grls {
namespace {

constexpr double kTies = 1e-10;      // of the range of the scores: what ties are parted by
constexpr double kArrived = 1e-10;   // of a way: what is left of it is rounding
constexpr double kRate = 1e-11;      // of the largest rate: no movement
constexpr double kRounding = 1e-13;  // of k(x, x): a row that the others determine to working precision,
constexpr double kDetermined =
    1e-11;  // or so far that c between its bounds moves no residual by more, of the scores
constexpr double kEssential = 1e-12;  // pivot times trace: a row that alone holds a direction of β
constexpr double kDelicate = 1e-6;    // likewise: the inverse is made anew
constexpr double kAccurate = 1e-10;   // what a direction may leave of its right-hand side
constexpr double kInside = 1e-6;      // of the bounds' distance: strictly between them
constexpr double kNever = std::numeric_limits<double>::infinity();

// A number in (0, 1) for each index, the same each time (the mixer of splitmix64).
double scattered(Index i) {
  std::uint64_t z = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return (static_cast<double>(z >> 11) + 0.5) * 0x1.0p-53;
}

// Steps beyond this are a path that turns in circles.
Index most_steps(Index n, Index r) { return 100 * (n + r) + 1000; }

// The smallest of some steps; of those that are equal to rounding the one with the largest rate.
struct Nearest {
  Index which = -1;
  double step = kNever, rate = 0;

  void offer(Index candidate, double at, double speed) {
    at = std::max(at, 0.0);
    const double equal = 1e-13 * std::min(std::abs(at), std::abs(step));
    if (at < step - equal || (at <= step + equal && speed > rate)) {
      which = candidate;
      step = std::min(at, step);
      rate = speed;
    }
  }
};

double room(double c, double rate, double lower, double upper) {
  return ((rate > 0 ? upper : lower) - c) / rate;
}

}  // namespace

void check_problem(const PinballProblem& problem) {
  const Index n = problem.rows(), r = problem.T.cols();
  require(n > 0, "there are no scores");
  require(problem.T.rows() == n, "there are ", n, " scores, but features of ", problem.T.rows(), " rows");
  require(r <= n, "there are more features (", r, ") than scores (", n, ")");
  require(r > 0 || problem.kernel != nullptr, "there are neither features nor a kernel");
  require(problem.scores.allFinite() && problem.T.allFinite(), "scores and features must be finite");
  require(
      std::isfinite(problem.lower) && std::isfinite(problem.upper) && problem.lower < 0 && problem.upper > 0,
      "the bounds must be on both sides of zero, got ", problem.lower, " and ", problem.upper);
}

Vector<double> without_ties(const Vector<double>& scores) {
  const double range = scores.maxCoeff() - scores.minCoeff();
  const double size = scores.cwiseAbs().maxCoeff();
  const double unit = kTies * (range > 0 ? range : (size > 0 ? size : 1.0));
  Vector<double> out = scores;
  for (Index i = 0; i < out.size(); ++i) out[i] += unit * scattered(i);
  return out;
}

PinballPath::PinballPath(const PinballProblem& problem)
    : problem_(&problem),
      n_(problem.rows()),
      r_(problem.T.cols()),
      side_(n_, -1),
      c_(Vector<double>::Zero(n_)),
      beta_(Vector<double>::Zero(r_)),
      residual_(Vector<double>::Zero(n_)),
      dres_(n_),
      unit_(problem.scores.maxCoeff() - problem.scores.minCoeff()) {}

// Row i of the matrix of F: (T_i, Φ_iF).
Vector<double> PinballPath::column(Index i) const {
  Vector<double> out(size());
  out.head(r_) = problem_->T.row(i);
  for (std::size_t k = 0; k < free_.size(); ++k) out[r_ + static_cast<Index>(k)] = value(i, free_[k]);
  return out;
}

void PinballPath::rebuild(const std::function<void()>& poll) {
  const Index N = size();
  Matrix<double> M = Matrix<double>::Zero(N, N);
  trace_ = 0;
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const Vector<double> m = column(free_[k]);
    M.col(r_ + static_cast<Index>(k)) = m;
    M.row(r_ + static_cast<Index>(k)) = m.transpose();
    trace_ += value(free_[k], free_[k]);
  }
  inverse_ = inverse_of(M, poll);
}

void PinballPath::put_at_bound(Index row, bool upper) {
  side_[row] = upper ? 1 : -1;
  c_[row] = upper ? problem_->upper : problem_->lower;
}

// out += factor · Φc
void PinballPath::add_kernel_part(Vector<double>& out, double factor) const {
  if (!has_kernel()) return;
  for (Index j = 0; j < n_; ++j) {
    if (c_[j] == 0) continue;
    out += (factor * c_[j]) * Eigen::Map<const Vector<double>>(problem_->kernel_row(j), n_);
  }
}

Vector<double> PinballPath::fresh_residual() const {
  Vector<double> out = problem_->scores - problem_->T * beta_;
  add_kernel_part(out, -1);
  return out;
}

// Rows whose features span those of all, r of them; those with a larger preference (n) rather than others.
IndexList PinballPath::spanning_rows(const Vector<double>& preference) const {
  if (r_ == 0) return {};
  const Matrix<double> weighted = (preference.asDiagonal() * problem_->T).transpose();
  const auto [rank, order] = pivot_columns(weighted);
  require(rank == r_, "the features are dependent: only ", rank, " of ", r_, " are not");
  return IndexList(order.begin(), order.begin() + r_);
}

void PinballPath::begin_cold(const std::function<void()>& poll) {
  const Matrix<double>& T = problem_->T;
  const double level = problem_->upper / width();
  if (r_ > 0) {
    beta_ = shortest_solution(T, problem_->scores);
    // The constant, or what comes nearest to it, takes the fit to where a share of the scores lies below.
    const Vector<double> one = shortest_solution(T, Vector<double>::Ones(n_));
    Vector<double> left = problem_->scores - T * beta_;
    const Index rank = std::min<Index>(n_ - 1, static_cast<Index>(level * static_cast<double>(n_)));
    std::nth_element(left.data(), left.data() + rank, left.data() + n_);
    beta_ += left[rank] * one;
  }
  residual_ = problem_->scores - T * beta_;
  for (Index i = 0; i < n_; ++i) put_at_bound(i, residual_[i] > 0);
  const double size = residual_.norm() > 0 ? residual_.norm() : 1;  // zero: the features are all there is
  const Vector<double> near = 1e-3 + (1 / (1 + (residual_.array() / size).abs() * 1e3));
  free_ = spanning_rows(near);
  for (const Index i : free_) side_[i] = 0, c_[i] = 0;
  rebuild(poll);
}

void PinballPath::begin_warm(const Vector<double>& start, const std::function<void()>& poll) {
  const double margin = kInside * width();
  Vector<double> preference = Vector<double>::Constant(n_, 1e-3);
  IndexList inside;
  for (Index i = 0; i < n_; ++i) {
    put_at_bound(i, start[i] - problem_->lower > problem_->upper - start[i]);
    if (start[i] > problem_->lower + margin && start[i] < problem_->upper - margin) {
      inside.push_back(i);
      preference[i] = 1;
    }
  }
  free_ = spanning_rows(preference);
  for (const Index i : free_) {
    side_[i] = 0;
    c_[i] = std::clamp(start[i], problem_->lower + 1e-3 * width(), problem_->upper - 1e-3 * width());
  }
  rebuild(poll);
  for (const Index i : inside) {
    if (side_[i] == 0 || !has_kernel()) continue;
    if (poll) poll();
    const Vector<double> m = column(i), z = inverse_ * m;
    const double schur = value(i, i) - m.dot(z);
    if (!is_independent(i, schur)) continue;
    c_[i] = start[i];
    append(i, z, schur);
  }
  rebuild(poll);
  Vector<double> left = problem_->scores;
  add_kernel_part(left, -1);
  if (r_ > 0) {
    Matrix<double> T_free(static_cast<Index>(free_.size()), r_);
    Vector<double> of_free(T_free.rows());
    for (Index k = 0; k < T_free.rows(); ++k) {
      T_free.row(k) = problem_->T.row(free_[k]);
      of_free[k] = left[free_[k]];
    }
    beta_ = shortest_solution(T_free, of_free);
  }
  residual_ = left - problem_->T * beta_;
}

PathEnd PinballPath::solve(const Vector<double>& start, const std::function<void()>& poll) {
  require(start.size() == 0 || (start.size() == n_ && start.allFinite()), "there are ", n_,
          " scores, but a start of ", start.size(), " values, or one that is not finite");
  if (start.size() == 0) {
    begin_cold(poll);
    if (has_kernel()) residual_ = fresh_residual();
  } else {
    begin_warm(start, poll);
  }
  // The scores of which this is the optimum: no residual where c is free, the right sign elsewhere.
  Vector<double> ds = Vector<double>::Zero(n_);
  const double range = residual_.cwiseAbs().maxCoeff();
  for (Index i = 0; i < n_; ++i) {
    const double own = residual_[i];
    if (side_[i] == 0)
      residual_[i] = 0;
    else if (side_[i] * own <= 0)
      residual_[i] = side_[i] * kTies * range * (1 + scattered(i));
    ds[i] = own - residual_[i];
  }
  const Vector<double> dq = -(problem_->T.transpose() * c_);
  steps_ = 0;
  const PathEnd end = follow(ds, dq, 1.0, poll);
  if (end != PathEnd::arrived) return end;
  const Vector<double> none = Vector<double>::Zero(r_);
  for (int k = 0; k < 2; ++k) {
    residual_ = fresh_residual();
    correct(none);
  }
  residual_ = fresh_residual();
  return end;
}

void PinballPath::restore(const Vector<double>& c, const IndexList& free, const std::function<void()>& poll) {
  require(c.size() == n_ && c.allFinite(), "there are ", n_, " scores, but ", c.size(),
          " coefficients, or some that are not finite");
  for (Index i = 0; i < n_; ++i) put_at_bound(i, c[i] - problem_->lower > problem_->upper - c[i]);
  for (const Index i : free) {
    require(i >= 0 && i < n_ && side_[i] != 0, "the free rows must be different ones of ", n_, ", got ", i);
    side_[i] = 0;
    c_[i] = c[i];
  }
  free_ = free;
  require(r_ == 0 || static_cast<Index>(free_.size()) >= r_, "there are fewer free rows than features");
  rebuild(poll);
  require(inverse_.allFinite(), "the free rows do not determine the coefficients of the features");
  const Vector<double> none = Vector<double>::Zero(r_);
  for (int k = 0; k < 3; ++k) {
    residual_ = fresh_residual();
    correct(none);
  }
  steps_ = 0;
}

void PinballPath::correct(const Vector<double>& q) {
  Vector<double> right(size());
  right.head(r_) = q - problem_->T.transpose() * c_;
  for (std::size_t k = 0; k < free_.size(); ++k) right[r_ + static_cast<Index>(k)] = residual_[free_[k]];
  const Vector<double> z = inverse_ * right;
  beta_ += z.head(r_);
  residual_ -= problem_->T * z.head(r_);
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const double change = z[r_ + static_cast<Index>(k)];
    c_[free_[k]] += change;
    if (has_kernel())
      residual_ -= change * Eigen::Map<const Vector<double>>(problem_->kernel_row(free_[k]), n_);
  }
}

double PinballPath::violation(const Vector<double>& q, double scale) const {
  double worst = r_ > 0 ? (problem_->T.transpose() * c_ - q).cwiseAbs().maxCoeff() / width() : 0;
  for (Index i = 0; i < n_; ++i) {
    const double wrong = side_[i] == 0 ? std::abs(residual_[i]) : std::max(0.0, -side_[i] * residual_[i]);
    const double outside = std::max(problem_->lower - c_[i], c_[i] - problem_->upper);
    worst = std::max({worst, wrong / scale, outside / width()});
    if (!(std::isfinite(wrong) && std::isfinite(outside))) return kNever;
  }
  return worst;
}

PathEnd PinballPath::follow(const Vector<double>& ds, const Vector<double>& dq, double length,
                            const std::function<void()>& poll) {
  const Index limit = steps_ + most_steps(n_, r_);
  double done = 0;
  while (length - done > kArrived * length) {
    if (poll) poll();
    if (++steps_ > limit) return PathEnd::exhausted;
    direction(ds, dq, poll);
    const Event event = nearest(length - done);
    advance(event.step);
    done += event.step;
    if (event.kind == Kind::none || length - done <= kArrived * length) break;
    if (event.kind == Kind::joins)
      join(event.which, poll);
    else if (!leave(event.which, poll))
      return PathEnd::unbounded;
  }
  return PathEnd::arrived;
}

// left = what dz_ leaves of its right-hand side; the largest of it, relative.
double PinballPath::direction_error(const Vector<double>& ds, const Vector<double>& dq,
                                    Vector<double>& left) const {
  left.resize(size());
  left.head(r_) = dq;
  double largest = dres_.cwiseAbs().maxCoeff(), worst = 0;
  double moved = r_ > 0 ? dq.cwiseAbs().maxCoeff() : 0;
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const double change = dz_[r_ + static_cast<Index>(k)];
    left.head(r_) -= change * problem_->T.row(free_[k]).transpose();
    left[r_ + static_cast<Index>(k)] = dres_[free_[k]];
    worst = std::max(worst, std::abs(dres_[free_[k]]));
    largest = std::max(largest, std::abs(ds[free_[k]]));
    moved = std::max(moved, std::abs(change));
  }
  double error = largest > 0 ? worst / largest : 0;
  if (r_ > 0 && moved > 0) error = std::max(error, left.head(r_).cwiseAbs().maxCoeff() / moved);
  return std::isfinite(error) ? error : kNever;
}

void PinballPath::direction(const Vector<double>& ds, const Vector<double>& dq,
                            const std::function<void()>& poll) {
  Vector<double> right(size()), left;
  right.head(r_) = dq;
  for (std::size_t k = 0; k < free_.size(); ++k) right[r_ + static_cast<Index>(k)] = ds[free_[k]];
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (attempt == 2) rebuild(poll);
    if (attempt % 2 == 0)
      dz_.noalias() = inverse_ * right;
    else
      dz_.noalias() += inverse_ * left;
    dres_ = ds;
    dres_.noalias() -= problem_->T * dz_.head(r_);
    if (has_kernel()) {
      for (std::size_t k = 0; k < free_.size(); ++k)
        dres_ -= dz_[r_ + static_cast<Index>(k)] *
                 Eigen::Map<const Vector<double>>(problem_->kernel_row(free_[k]), n_);
    }
    if (direction_error(ds, dq, left) <= kAccurate) break;
  }
  for (const Index i : free_) dres_[i] = 0;
}

PinballPath::Event PinballPath::nearest(double remaining) const {
  Nearest leaving, joining;
  const auto dc = dz_.tail(size() - r_);
  const double least = free_.empty() ? 0 : kRate * dc.cwiseAbs().maxCoeff();
  for (std::size_t k = 0; k < free_.size(); ++k) {
    const double rate = dc[static_cast<Index>(k)];
    if (std::abs(rate) <= least) continue;
    leaving.offer(static_cast<Index>(k), room(c_[free_[k]], rate, problem_->lower, problem_->upper),
                  std::abs(rate));
  }
  const double slow = kRate * dres_.cwiseAbs().maxCoeff();
  for (Index i = 0; i < n_; ++i) {
    if (side_[i] == 0) continue;
    const double towards = -side_[i] * dres_[i];  // positive: the residual goes to zero
    if (towards > slow) joining.offer(i, side_[i] * residual_[i] / towards, towards);
  }
  if (std::min(leaving.step, joining.step) >= remaining) return {Kind::none, -1, remaining};
  if (leaving.step <= joining.step) return {Kind::leaves, leaving.which, leaving.step};
  return {Kind::joins, joining.which, joining.step};
}

void PinballPath::advance(double step) {
  beta_ += step * dz_.head(r_);
  for (std::size_t k = 0; k < free_.size(); ++k) c_[free_[k]] += step * dz_[r_ + static_cast<Index>(k)];
  residual_ += step * dres_;
}

// A free row has reached a bound. False where β then slides to infinity.
bool PinballPath::leave(Index place, const std::function<void()>& poll) {
  const Index row = free_[place];
  const bool upper = dz_[r_ + place] > 0;
  put_at_bound(row, upper);
  residual_[row] = 0;
  double pivot = inverse_(r_ + place, r_ + place) * trace_;
  if (has_kernel() && pivot <= kDelicate) {  // too small to trust an inverse that was brought up to date
    rebuild(poll);
    pivot = inverse_(r_ + place, r_ + place) * trace_;
  }
  if (r_ > 0 && pivot <= kEssential) return slide(place, upper ? 1 : -1, poll);
  remove(place);
  if (pivot <= kDelicate) rebuild(poll);
  return true;
}

// β moves so that the residual of a row that has left gets the sign of its bound, those of the other free
// rows staying zero, until another row takes its place.
bool PinballPath::slide(Index place, double sign, const std::function<void()>& poll) {
  const Vector<double> d = -sign * inverse_.col(r_ + place).head(r_);
  const Vector<double> rates = -(problem_->T * d);  // sign at the row itself
  const double least = kRate * rates.cwiseAbs().maxCoeff();
  Nearest joining;
  for (Index i = 0; i < n_; ++i) {
    const double towards = -side_[i] * rates[i];
    if (side_[i] != 0 && i != free_[place] && towards > least)
      joining.offer(i, side_[i] * residual_[i] / towards, towards);
  }
  if (joining.which < 0) return false;
  beta_ += joining.step * d;
  for (Index i = 0; i < n_; ++i)
    if (side_[i] != 0) residual_[i] += joining.step * rates[i];
  exchange(place, joining.which, poll);
  return true;
}

// Whether the free rows leave a row something of its own: `schur` is what they do not determine of k(x, x).
bool PinballPath::is_independent(Index row, double schur) const {
  return has_kernel() && schur > kRounding * value(row, row) && schur * width() > kDetermined * unit_;
}

// The residual of a row at a bound has reached zero.
void PinballPath::join(Index row, const std::function<void()>& poll) {
  residual_[row] = 0;
  const Vector<double> m = column(row), z = inverse_ * m;
  const double schur = value(row, row) - m.dot(z);
  if (is_independent(row, schur))
    append(row, z, schur);
  else
    swap_in(row, z, poll);
}

// c moves, f standing still: that of the row from its bound inwards, until it or a free one is at a bound.
void PinballPath::swap_in(Index row, const Vector<double>& z, const std::function<void()>& poll) {
  const double inwards = -side_[row];
  const Vector<double> dc = -inwards * z.tail(size() - r_);
  Nearest leaving;
  leaving.offer(-2, width(), 1.0);
  for (Index k = 0; k < dc.size(); ++k) {
    if (std::abs(dc[k]) <= kRate) continue;
    leaving.offer(k, room(c_[free_[k]], dc[k], problem_->lower, problem_->upper), std::abs(dc[k]));
  }
  for (Index k = 0; k < dc.size(); ++k) c_[free_[k]] += leaving.step * dc[k];
  beta_ -= leaving.step * inwards * z.head(r_);
  if (leaving.which < 0) {
    put_at_bound(row, inwards > 0);
    return;
  }
  c_[row] += leaving.step * inwards;
  put_at_bound(free_[leaving.which], dc[leaving.which] > 0);
  residual_[free_[leaving.which]] = 0;
  exchange(leaving.which, row, poll);
}

void PinballPath::append(Index row, const Vector<double>& z, double schur) {
  const Index N = size();
  inverse_.conservativeResize(N + 1, N + 1);
  inverse_.topLeftCorner(N, N).noalias() += (z / schur) * z.transpose();
  inverse_.col(N).head(N) = -z / schur;
  inverse_.row(N).head(N) = inverse_.col(N).head(N).transpose();
  inverse_(N, N) = 1 / schur;
  free_.push_back(row);
  side_[row] = 0;
  trace_ += value(row, row);
}

void PinballPath::remove(Index place) {
  const Index last = size() - 1, k = r_ + place;
  trace_ -= value(free_[place], free_[place]);
  if (k != last) {
    inverse_.col(k).swap(inverse_.col(last));
    inverse_.row(k).swap(inverse_.row(last));
    std::swap(free_[place], free_.back());
  }
  const Vector<double> z = inverse_.col(last).head(last);
  const double pivot = inverse_(last, last);
  free_.pop_back();
  inverse_.conservativeResize(last, last);
  inverse_.noalias() -= (z / pivot) * z.transpose();
}

// Another row in the place of a free one, by a change of rank two.
void PinballPath::exchange(Index place, Index row, const std::function<void()>& poll) {
  const Index k = r_ + place;
  Vector<double> w = column(row) - column(free_[place]);
  w[k] = 0.5 * (value(row, row) - value(free_[place], free_[place]));
  // Column `place` of the old matrix holds Φ(old, old), that of the new one Φ(new, new).
  trace_ += 2 * w[k];
  free_[place] = row;
  side_[row] = 0;
  residual_[row] = 0;
  const Vector<double> e = inverse_.col(k), v = inverse_ * w;
  const double p = e[k], q = 1 + v[k], s = w.dot(v), determinant = p * s - q * q;
  if (!(std::abs(determinant) > kDelicate * std::max(std::abs(p * s), q * q)) ||
      std::abs(determinant) < kDelicate) {
    rebuild(poll);
    return;
  }
  // [p q; q s]⁻¹ = [s -q; -q p] / determinant
  const Vector<double> a = (s * e - q * v) / determinant, b = (p * v - q * e) / determinant;
  inverse_.noalias() -= a * e.transpose();
  inverse_.noalias() -= b * v.transpose();
}

}  // namespace grls
