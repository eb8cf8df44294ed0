#include "least_squares/posterior.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "matrices/factor.hpp"
#include "matrices/products.hpp"
#include "matrices/small_systems.hpp"

namespace grls {
namespace {

constexpr Index kTogether = 512;  // points that all threads solve for together; more are shared out
constexpr Index kColumns = 256;   // points of a task then: L is read once for all of them
constexpr double kUnseen = 1e-7;  // of a variance: what rounding changes by less is not looked at
constexpr Index kFewRows = 4;     // so few that the samples are read as they are

// The κ of some points at a time.
class Columns {
 public:
  Columns(const Context& context, const KernelColumns& values)
      : scratch_(static_cast<std::size_t>(context.threads())) {
    if (const auto* given = std::get_if<GivenKernelColumns>(&values)) {
      given_ = given;
      m_ = given->m;
      points_ = given->points;
      return;
    }
    const auto& [formula, samples, rows] = std::get<KernelOfNewRows>(values);
    m_ = row_count(samples);
    points_ = row_count(rows);
    few_ = points_ <= kFewRows;
    if (few_) {
      kernel_.emplace(context, formula, samples, points_);
      kernel_->set_rows(context, rows);
    } else {  // transposed: a column is a point
      kernel_.emplace(context, formula, rows);
      kernel_->set_rows(context, samples);
    }
  }

  // out (m, count), ld apart: those of the points from `first` on; not for a few rows.
  void fill(Index first, Index count, double* out, Index ld, int worker) {
    if (given_) {
      for (Index p = 0; p < count; ++p) std::copy_n(given_->data + (first + p) * m_, m_, out + p * ld);
      return;
    }
    kernel_->evaluate(0, m_, first, count, out, ld, scratch_[static_cast<std::size_t>(worker)]);
  }

  // The same for all points, shared out among the threads.
  void fill(const Context& context, Matrix<double>& out) {
    const Index all = few_ ? m_ : points_, strip = few_ ? 512 : 32;
    const double work = kernel_ ? kernel_->work() : 1;
    const double size = static_cast<double>(m_) * static_cast<double>(points_);
    parallel_for(context, (all + strip - 1) / strip, workers_for(context, size * work),
                 [&](Index t, const Worker& worker) {
                   const Index first = t * strip, count = std::min(strip, all - first);
                   if (!few_) return fill(first, count, out.data() + first * m_, m_, worker.id());
                   Matrix<double> tile(points_, count);
                   kernel_->evaluate(0, points_, first, count, tile.data(), points_,
                                     scratch_[static_cast<std::size_t>(worker.id())]);
                   out.middleRows(first, count) = tile.transpose();
                 });
  }

 private:
  const GivenKernelColumns* given_ = nullptr;
  bool few_ = false;
  Index m_ = 0, points_ = 0;
  std::optional<KernelTiles<double>> kernel_;
  std::vector<KernelTiles<double>::Scratch> scratch_;
};

double solve_work(Index m, Index points) {
  return 0.5 * static_cast<double>(m) * static_cast<double>(m) * static_cast<double>(points);
}

}  // namespace

Posterior::Posterior(const Context& context, const Problem& problem)
    : m_(problem.T.rows()), shift_(problem.shift) {
  require(problem.formulation == Formulation::exact, "variances need formulation='exact'");
  require(problem.Y.cols() == 0, "a posterior is made without targets");
  Assembled<double> assembled = assemble_problem<double>(context, problem, has_wide_weights(problem));
  basis_ = std::move(assembled.basis);
  s_ = std::move(assembled.s);
  L_ = std::move(assembled.A);
  shift_diagonal(problem.shift, m_, *L_);
  const Index n = L_->pivots();
  sizes_.resize(m_);
  for (Index i = 0; i < n; ++i) sizes_[i] = *L_->column(i, i);
  sizes_.tail(m_ - n) = symmetric_corner(*L_, n, m_).diagonal();
  sizes_ = sizes_.cwiseMax(0).cwiseSqrt();
  partial_llt(context, *L_);
  schur_ = symmetric_corner(*L_, n, m_);
  L21_ = rows_of(*L_, n, m_, n);
}

void Posterior::check(const KernelColumns& values, const Matrix<double>& T_new) const {
  Index m = 0, points = 0;
  if (const auto* given = std::get_if<GivenKernelColumns>(&values)) {
    m = given->m;
    points = given->points;
  } else {
    m = row_count(std::get<KernelOfNewRows>(values).samples);
    points = row_count(std::get<KernelOfNewRows>(values).rows);
  }
  require(m == m_, "the kernel values of the new points are those of ", m, " samples, there are ", m_);
  require(T_new.rows() == points && T_new.cols() == features(), "the features of the new points have shape (",
          T_new.rows(), ", ", T_new.cols(), "), expected (", points, ", ", features(), ")");
}

Posterior::Drift Posterior::drift(const Context& context, const Matrix<double>& T_new) const {
  const Index l = basis_.rank(), points = T_new.rows();
  Drift out{Matrix<double>(l, points), Matrix<double>(l, points)};
  if (l == 0) return out;
  for (Index p = 0; p < l; ++p)
    out.t.row(p) = T_new.col(basis_.kept[static_cast<std::size_t>(p)]).transpose();
  out.t = solved(basis_.C.transpose(), out.t, [&] { context.poll(); });  // φᵀβ = tᵀ(Cβ)
  out.St = schur_ * out.t;
  return out;
}

void Posterior::to_basis(double* X, Index k, Index ld) const {
  for (Index p = 0; p < k && s_.size() > 0; ++p) {
    Eigen::Map<Vector<double>> x(X + p * ld, m_);
    x.array() *= s_.array();
    if (!basis_.order.empty()) x = basis_.ordered(x).eval();
  }
  const Index l = basis_.rank();
  if (l == 0) return;
  Matrix<double> ZtX(l, k);  // MᵀX = X - V ZᵀX
  blas::gemm(blas::Op::transpose, blas::Op::none, l, k, m_, 1.0, basis_.Z.data(), m_, X, ld, 0.0, ZtX.data(),
             l);
  blas::gemm(blas::Op::none, blas::Op::none, m_, k, l, -1.0, basis_.V.data(), m_, ZtX.data(), l, 1.0, X, ld);
}

Vector<double> Posterior::rounding(const double* X, Index count, const Matrix<double>& t, const double* prior,
                                   const double* variance) const {
  constexpr double kEpsilon = 50 * std::numeric_limits<double>::epsilon();  // of a kernel value, and sums
  const Index n = L_->pivots(), l = basis_.rank();
  Vector<double> out = Vector<double>::Zero(count);
  const double reach = sizes_.norm() / std::sqrt(shift_);  // shift |λ|² is a part of the variance
  IndexList seen;
  for (Index p = 0; p < count; ++p) {
    const double root = std::sqrt(std::max(variance[p], 0.0));
    if (std::sqrt(std::abs(prior[p])) + reach * root > std::sqrt(kUnseen / kEpsilon) * root)
      seen.push_back(p);
  }
  if (seen.empty()) return out;
  Matrix<double> lambda(n, static_cast<Index>(seen.size()));
  for (Index q = 0; q < lambda.cols(); ++q) {
    const Index p = seen[static_cast<std::size_t>(q)];
    lambda.col(q) = Eigen::Map<const Vector<double>>(X + p * m_, n) - L21_.transpose() * t.col(p);
  }
  solve_transposed(Context(1, [] {}), *L_, lambda);  // this may be the task of one of several threads
  for (Index q = 0; q < lambda.cols(); ++q) {
    const Index p = seen[static_cast<std::size_t>(q)];
    const double sum = std::sqrt(std::abs(prior[p])) + sizes_.head(n).dot(lambda.col(q).cwiseAbs()) +
                       sizes_.tail(l).dot(t.col(p).cwiseAbs());
    out[p] = kEpsilon * sum * sum;
  }
  return out;
}

double Posterior::add_to_variance(const Context& context, const KernelColumns& values,
                                  const Matrix<double>& T_new, Vector<double>& variance) const {
  check(values, T_new);
  const Index points = T_new.rows(), n = L_->pivots(), l = basis_.rank();
  require(variance.size() == points, "there are ", variance.size(), " prior variances for ", points,
          " points");
  if (points == 0) return 0;
  const Vector<double> prior = variance;
  Vector<double> lost = Vector<double>::Zero(points);
  const Drift drift = this->drift(context, T_new);
  Columns columns(context, values);
  const auto add = [&](Index first, Index count, const double* X) {
    for (Index p = 0; p < count; ++p) {
      const Eigen::Map<const Vector<double>> v(X + p * m_, n), w(X + p * m_ + n, l);
      const auto t = drift.t.col(first + p), St = drift.St.col(first + p);
      variance[first + p] += t.dot(St) - 2 * t.dot(w) - v.squaredNorm();
    }
    lost.segment(first, count) =
        rounding(X, count, drift.t.middleCols(first, count), prior.data() + first, variance.data() + first);
  };
  const auto largest = [&] {
    double out = 0;
    for (Index p = 0; p < points; ++p)
      if (lost[p] > 0) out = std::max(out, variance[p] > lost[p] ? lost[p] / variance[p] : 1.0);
    return out;
  };
  if (points <= kTogether) {
    Matrix<double> X(m_, points);
    columns.fill(context, X);
    to_basis(X.data(), points, m_);
    solve_forward(context, *L_, X);
    add(0, points, X.data());
    return largest();
  }
  std::vector<std::vector<double>> blocks(static_cast<std::size_t>(context.threads()));
  parallel_for(context, (points + kColumns - 1) / kColumns, workers_for(context, solve_work(m_, points)),
               [&](Index task, const Worker& worker) {
                 const Index first = task * kColumns, count = std::min(kColumns, points - first);
                 std::vector<double>& X = blocks[static_cast<std::size_t>(worker.id())];
                 X.resize(static_cast<std::size_t>(m_ * count));
                 columns.fill(first, count, X.data(), m_, worker.id());
                 to_basis(X.data(), count, m_);
                 if (solve_forward(context, worker, *L_, m_, X.data(), count, m_))
                   add(first, count, X.data());
               });
  return largest();
}

void Posterior::add_to_covariance(const Context& context, const KernelColumns& values,
                                  const Matrix<double>& T_new, double* covariance) const {
  check(values, T_new);
  const Index points = T_new.rows(), n = L_->pivots(), l = basis_.rank();
  const Drift drift = this->drift(context, T_new);
  Columns columns(context, values);
  Matrix<double> X(m_, points);
  if (points <= kTogether) {
    columns.fill(context, X);
    to_basis(X.data(), points, m_);
    solve_forward(context, *L_, X);
  } else {
    parallel_for(context, (points + kColumns - 1) / kColumns, workers_for(context, solve_work(m_, points)),
                 [&](Index task, const Worker& worker) {
                   const Index first = task * kColumns, count = std::min(kColumns, points - first);
                   double* const part = X.data() + first * m_;
                   columns.fill(first, count, part, m_, worker.id());
                   to_basis(part, count, m_);
                   solve_forward(context, worker, *L_, m_, part, count, m_);
                 });
  }
  // [t w]ᵀ[St - w  -t] and VᵀV, in tiles of the lower triangle and their mirror images.
  Matrix<double> left(2 * l, points), right(2 * l, points);
  left << drift.t, X.bottomRows(l);
  right << drift.St - X.bottomRows(l), -drift.t;
  const Index strips = (points + kColumns - 1) / kColumns;
  parallel_for(
      context, strips * strips, workers_for(context, solve_work(points, m_)), [&](Index task, const Worker&) {
        const Index i = task / strips * kColumns, j = task % strips * kColumns;
        if (i < j) return;
        const Index rows = std::min(kColumns, points - i), count = std::min(kColumns, points - j);
        Matrix<double> tile = transposed_product(left.middleCols(i, rows), right.middleCols(j, count));
        blas::gemm(blas::Op::transpose, blas::Op::none, rows, count, n, -1.0, X.data() + i * m_, m_,
                   X.data() + j * m_, m_, 1.0, tile.data(), rows);
        if (i == j) tile = (0.5 * (tile + tile.transpose())).eval();
        Eigen::Map<Matrix<double>> out(covariance, points, points);
        out.block(i, j, rows, count) += tile;
        if (i > j) out.block(j, i, count, rows) += tile.transpose();
      });
}

double posterior_bytes(Index m, Index n_features) {
  require_count(m, "samples");
  require_count(n_features, "features");
  // The features come in two forms and are worked on in two more.
  return BlockTriangle<double>::bytes(m) + 32 * static_cast<double>(m) * static_cast<double>(n_features);
}

double covariance_bytes(Index m, Index n_points) {
  require_count(m, "samples");
  require_count(n_points, "points");
  const auto points = static_cast<double>(n_points);
  return 8 * points * (points + static_cast<double>(m));
}

}  // namespace grls
