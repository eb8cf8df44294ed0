#include "nystrom/matrix_free.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "base/errors.hpp"
#include "data/gather.hpp"
#include "kernels/predict.hpp"
#include "matrices/factor.hpp"

namespace grls {
namespace {

constexpr Index kMostCentres = 2000;
constexpr Index kMostValues = Index(1) << 27;  // of the preconditioner: 1 GiB
constexpr double kRankTolerance = 1e-12;
constexpr Index kStrip = 64;  // functions that a task takes

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Throws unless H = L Lᵀ up to rounding: what a positive definite kernel leaves after its rank is zero.
void require_definite(const Matrix<double>& H, const Matrix<double>& L, const IndexList& order,
                      double largest) {
  std::mt19937_64 bits(0);
  std::normal_distribution<double> normal;
  const Matrix<double> probes = Matrix<double>::NullaryExpr(H.rows(), 3, [&] { return normal(bits); });
  const Matrix<double> image = H * probes;
  Matrix<double> ordered(H.rows(), 3), left(H.rows(), 3);
  for (Index i = 0; i < H.rows(); ++i) {
    ordered.row(i) = probes.row(order[static_cast<std::size_t>(i)]);
    left.row(i) = image.row(order[static_cast<std::size_t>(i)]);
  }
  left -= L * (L.transpose() * ordered);
  const double allowed = 1e-5 * std::max(largest, 1e-300) * static_cast<double>(H.rows());
  if (H.rows() > 0 && left.cwiseAbs().maxCoeff() > allowed)
    throw NotPositiveDefinite(
        "the kernel is not positive definite at the centres (on what the features leave of it)");
}

// The places of the `count` rows with the smallest keys, equal rows once, in the order of the keys.
IndexList smallest_keys(const Context& context, const Rows& rows, Index count) {
  const std::vector<std::uint64_t> keys = row_keys(context, rows, 0);
  IndexList places(keys.size());
  std::iota(places.begin(), places.end(), Index(0));
  const auto key = [&](Index i) { return keys[static_cast<std::size_t>(i)]; };
  std::sort(places.begin(), places.end(),
            [&](Index a, Index b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
  places.erase(std::unique(places.begin(), places.end(), [&](Index a, Index b) { return key(a) == key(b); }),
               places.end());
  if (static_cast<Index>(places.size()) > count) places.resize(static_cast<std::size_t>(count));
  return places;
}

// (ΠBBᵀΠ + s)⁻¹ = (I - B (BᵀB + s)⁻¹ Bᵀ) / s on what the features leave, B <- ΠB (m, r).
class Preconditioner {
 public:
  Preconditioner(const Context& context, const Problem& problem, const Vector<double>& roots,
                 const Matrix<double>& Q, Index n_centres)
      : context_(context), shift_(problem.shift) {
    const auto& kernel = std::get<KernelOfRows>(problem.gram);
    const Index m = problem.Y.rows();
    const IndexList places = smallest_keys(context, kernel.rows, preconditioner_centres(m, n_centres));
    const GatheredRows centres(kernel.rows, places);
    Matrix<double> T(static_cast<Index>(places.size()), problem.T.cols());
    for (Index i = 0; i < T.rows(); ++i) T.row(i) = problem.T.row(places[static_cast<std::size_t>(i)]);
    const CentreFunctions functions =
        centre_functions(context, kernel.formula, centres.view(), T, problem.tolerance, kRankTolerance);
    const Index r = functions.whitening.rank();
    if (r == 0) return;  // the features express all that the kernel does
    const GatheredRows used(centres.view(), functions.used);
    Bt_.resize(r, m);
    whitened_rows(context, functions.whitening, KernelAtCentres{kernel.formula, kernel.rows, used.view()},
                  Bt_.data());
    project(roots, Q);
    factor_ = std::make_unique<BlockTriangle<double>>(r, r);
    for_tiles(context, *factor_, 0, r, 2.0 * static_cast<double>(m), [&](const auto& t, int) {
      blas::gemm(blas::Op::none, blas::Op::transpose, t.last - t.first, t.columns, m, 1.0,
                 Bt_.data() + t.first, r, Bt_.data() + t.column, r, 0.0, factor_->at(t), factor_->ld(t.j));
    });
    shift_diagonal(shift_, r, *factor_);
    partial_llt(context, *factor_);
  }

  void operator()(Matrix<double>& R) const {
    const Index r = Bt_.rows(), m = R.rows(), k = R.cols();
    if (r > 0) {
      Matrix<double> seen(r, k);  // BᵀR
      const double work = 2.0 * size_of(Bt_) * static_cast<double>(k);
      parallel_for(context_, (r + kStrip - 1) / kStrip, workers_for(context_, work),
                   [&](Index t, const Worker&) {
                     const Index first = t * kStrip, count = std::min(kStrip, r - first);
                     blas::gemm(blas::Op::none, blas::Op::none, count, k, m, 1.0, Bt_.data() + first, r,
                                R.data(), m, 0.0, seen.data() + first, r);
                   });
      solve_forward(context_, *factor_, seen);
      solve_transposed(context_, *factor_, seen);
      for_rows(context_, m, work, [&](Index first, Index count) {
        blas::gemm(blas::Op::transpose, blas::Op::none, count, k, r, -1.0, Bt_.data() + first * r, r,
                   seen.data(), r, 1.0, R.data() + first, m);
      });
    }
    R /= shift_;
  }

 private:
  // Bᵀ <- BᵀW½ (I - QQᵀ)
  void project(const Vector<double>& roots, const Matrix<double>& Q) {
    const Index r = Bt_.rows(), m = Bt_.cols(), l = Q.cols();
    if (roots.size() > 0) Bt_ = Bt_ * roots.asDiagonal();
    if (l == 0) return;
    Matrix<double> BQ(r, l);
    blas::gemm(blas::Op::none, blas::Op::none, r, l, m, 1.0, Bt_.data(), r, Q.data(), m, 0.0, BQ.data(), r);
    for_rows(context_, m, 2.0 * size_of(Bt_) * static_cast<double>(l), [&](Index first, Index count) {
      blas::gemm(blas::Op::none, blas::Op::transpose, r, count, l, -1.0, BQ.data(), r, Q.data() + first, m,
                 1.0, Bt_.data() + first * r, r);
    });
  }

  const Context& context_;
  double shift_;
  Matrix<double> Bt_;  // (r, m)
  std::unique_ptr<BlockTriangle<double>> factor_;
};

// W½ΦW½ V
template <class S>
Matrix<double> kernel_product(const Context& context, const KernelOfRows& kernel, const Vector<double>& roots,
                              const Matrix<double>& V) {
  const Matrix<double> scaled = roots.size() > 0 ? Matrix<double>(roots.asDiagonal() * V) : V;
  Matrix<double> out;
  if constexpr (std::is_same_v<S, float>) {
    // Columns of length one: float32 neither overflows nor underflows.
    Eigen::RowVectorXd size = scaled.colwise().norm();
    for (double& s : size) s = s > 0 ? s : 1;
    const Matrix<float> single = (scaled * size.cwiseInverse().asDiagonal()).template cast<float>();
    out =
        symmetric_kernel_times<float>(context, kernel.formula, kernel.rows, single).template cast<double>() *
        size.asDiagonal();
  } else {
    out = symmetric_kernel_times<double>(context, kernel.formula, kernel.rows, scaled);
  }
  if (roots.size() > 0) out = roots.asDiagonal() * out;
  return out;
}

void check(const Problem& problem) {
  require(std::holds_alternative<KernelOfRows>(problem.gram),
          "conjugate gradients evaluate the kernel again in every step: they need a formula");
  require(problem.formulation == Formulation::exact, "conjugate gradients need formulation='exact'");
  require(problem.shift > 0 && std::isfinite(problem.shift),
          "conjugate gradients need a positive regularization");
  const Index m = problem.Y.rows();
  require(samples_of(problem.gram) == m, "the kernel has ", samples_of(problem.gram),
          " samples, the targets have ", m, " rows");
  require(problem.T.rows() == m, "the features have ", problem.T.rows(), " rows, the targets ", m);
  require(problem.weights.size() == 0 || problem.weights.size() == m, "got ", problem.weights.size(),
          " sample weights for ", m, " samples");
  require(problem.weights.size() == 0 || (problem.weights.minCoeff() > 0 && problem.weights.allFinite()),
          "sample weights must be positive here");
}

}  // namespace

CentreFunctions centre_functions(const Context& context, const Formula& formula, const Rows& centres,
                                 const Matrix<double>& T, double dependence, double rank_tolerance) {
  const Index M = row_count(centres);
  require(T.rows() == M, "the features have ", T.rows(), " rows, the centres ", M);
  Matrix<double> K(M, M);
  kernel_matrix(context, formula, centres, centres, K.data());
  const double largest = M > 0 ? K.cwiseAbs().maxCoeff() : 0;
  require(std::isfinite(largest), "the kernel is not finite at some samples: scale the data down");
  const Basis basis = pivot_basis(T, Pivots::qr, dependence);
  const Index q = basis.rank();
  const Matrix<double> H = assemble_reduced(context, GivenGram{K.data(), M}, basis);
  Matrix<double> L = H;
  IndexList order;
  const Index rank = pivoted_llt(context, L, rank_tolerance * largest, order);
  L.triangularView<Eigen::StrictlyUpper>().setZero();
  require_definite(H, L.leftCols(rank), order, largest);

  CentreFunctions out;
  out.whitening.L = L.topLeftCorner(rank, rank);
  out.whitening.E.resize(rank, q);
  const auto sample = [&](Index place) {
    return basis.order.empty() ? place : basis.order[static_cast<std::size_t>(place)];
  };
  for (Index i = 0; i < rank; ++i) {
    const Index place = order[static_cast<std::size_t>(i)];
    out.whitening.E.row(i) = basis.V.row(place);
    out.used.push_back(sample(place));
  }
  for (Index place = M - q; place < M; ++place) out.used.push_back(sample(place));
  return out;
}

Index preconditioner_centres(Index m, Index n_centres) {
  require_count(m, "samples");
  require_count(n_centres, "centres");
  const Index most = n_centres > 0 ? n_centres : kMostCentres;
  return std::max<Index>(1, std::min({m, most, kMostValues / std::max<Index>(m, 1)}));
}

double solve_cg_bytes(Index m, Index n_outputs, Index n_centres) {
  require_count(n_outputs, "outputs");
  const Index M = preconditioner_centres(m, n_centres);
  const auto rows = static_cast<double>(m), centres = static_cast<double>(M);
  return 8 * rows * centres + centres_bytes(M) + 8 * 8 * rows * static_cast<double>(n_outputs);
}

MatrixFreeSolution solve_cg(const Context& context, const Problem& problem, const GradientsOptions& options,
                            Index n_centres) {
  check(problem);
  const auto start = std::chrono::steady_clock::now();
  const auto& kernel = std::get<KernelOfRows>(problem.gram);
  const Vector<double> roots = problem.weights.array().sqrt();
  const auto weighted = [&](const Matrix<double>& X) {
    return roots.size() > 0 ? Matrix<double>(roots.asDiagonal() * X) : X;
  };
  const Index m = problem.Y.rows(), k = problem.Y.cols();
  const Matrix<double> Y = weighted(problem.Y);
  const Basis basis = orthonormal_basis(weighted(problem.T), problem.tolerance);
  const Index l = basis.rank();
  Matrix<double> Q = Matrix<double>::Zero(m, l);
  Q.bottomRows(l).setIdentity();
  Q = basis.times(Q);
  const Preconditioner precondition(context, problem, roots, Q, n_centres);

  LinearSystem<Matrix<double>> system;
  const auto finish = [&](const Matrix<double>& V, const Matrix<double>& product, Matrix<double>& out) {
    out = product - Q * (Q.transpose() * product) + problem.shift * V;
  };
  system.multiply = [&](const Matrix<double>& V, Matrix<double>& out) {
    finish(V, kernel_product<double>(context, kernel, roots, V), out);
  };
  if (problem.precision == Precision::float32 || problem.precision == Precision::mixed)
    system.multiply_roughly = [&](const Matrix<double>& V, Matrix<double>& out) {
      finish(V, kernel_product<float>(context, kernel, roots, V), out);
    };
  system.precondition = [&](Matrix<double>& R) { precondition(R); };

  MatrixFreeSolution out;
  out.precondition_seconds = seconds_since(start);
  const auto prepared = std::chrono::steady_clock::now();
  const Matrix<double> PhiQ = l > 0 ? kernel_product<double>(context, kernel, roots, Q) : Q;
  Matrix<double> rhs(m, k + l);
  rhs.leftCols(k) = Y;
  rhs.rightCols(l) = PhiQ;
  rhs -= Q * (Q.transpose() * rhs);
  const Gradients<Matrix<double>> solved = conjugate_gradients(context, system, rhs, options);
  const auto z = solved.X.leftCols(k), across = solved.X.rightCols(l);
  out.solution.c = weighted(z);
  out.solution.beta = basis.feature_coefficients(Q.transpose() * Y - PhiQ.transpose() * z);
  out.solution.quadratic = (Y.array() * z.array()).colwise().sum().transpose();
  const Matrix<double> spread =
      Q.transpose() * PhiQ + problem.shift * Matrix<double>::Identity(l, l) - PhiQ.transpose() * across;
  out.solution.feature_covariance =
      basis.feature_coefficients(basis.feature_coefficients(spread).transpose());
  out.solution.kept = basis.kept;
  out.solution.precision = problem.precision == Precision::automatic ? Precision::float64 : problem.precision;
  out.solution.iterations = solved.iterations;
  out.residual = solved.residuals.size() > 0 ? solved.residuals.maxCoeff() : 0;
  out.status = solved.status;
  out.solve_seconds = seconds_since(prepared);
  return out;
}

}  // namespace grls
