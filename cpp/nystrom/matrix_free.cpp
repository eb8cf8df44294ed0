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
#include "matrices/products.hpp"

namespace grls {
namespace {

constexpr Index kMostCentres = 2000;
constexpr Index kMostValues = Index(1) << 27;  // of the preconditioner: 1 GiB
constexpr double kRankTolerance = 1e-12;
constexpr double kExpressed = 1e-14;  // share of a vector that the features leave and that is rounding
constexpr Index kTileOfGroup = 256;   // samples of a group whose kernel values are held at a time
constexpr double kRelaxed = 0.5;      // the power of the tolerance that columns of the covariance do without
constexpr Index kMixedFrom = 4096;    // samples from which single precision does the steps by itself

IndexList nonzero_columns(const Matrix<double>& X) {
  IndexList out;
  for (Index p = 0; p < X.cols(); ++p)
    if (!X.col(p).isZero(0)) out.push_back(p);
  return out;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Throws unless H = L Lᵀ up to rounding: what a positive definite kernel leaves after its rank is zero.
void require_definite(const Matrix<double>& H, const Matrix<double>& L, const IndexList& order,
                      double largest) {
  std::mt19937_64 bits(0);
  std::normal_distribution<double> normal;
  const Matrix<double> probes = Matrix<double>::NullaryExpr(H.rows(), 3, [&] { return normal(bits); });
  const Matrix<double> image = product(H, probes);
  Matrix<double> ordered(H.rows(), 3), left(H.rows(), 3);
  for (Index i = 0; i < H.rows(); ++i) {
    ordered.row(i) = probes.row(order[static_cast<std::size_t>(i)]);
    left.row(i) = image.row(order[static_cast<std::size_t>(i)]);
  }
  left -= product(L, transposed_product(L, ordered));
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

const KernelOfRows& kernel_of(const Problem& problem) {
  require(std::holds_alternative<KernelOfRows>(problem.gram),
          "conjugate gradients evaluate the kernel again in every step: they need a formula");
  require(problem.formulation == Formulation::exact, "conjugate gradients need formulation='exact'");
  const Index m = problem.T.rows();
  require(samples_of(problem.gram) == m, "the kernel has ", samples_of(problem.gram),
          " samples, the features have ", m, " rows");
  require(problem.weights.size() == 0 || problem.weights.size() == m, "got ", problem.weights.size(),
          " sample weights for ", m, " samples");
  require(problem.weights.size() == 0 || (problem.weights.minCoeff() > 0 && problem.weights.allFinite()),
          "sample weights must be positive here");
  return std::get<KernelOfRows>(problem.gram);
}

// Functions of centres drawn uniformly, of what the features leave of the kernel there. Of the effects of
// groups it is the constant that a kernel may need; `grouped`: there are some.
LowRank uniform_functions(const Context& context, const Problem& problem, const KernelOfRows& kernel,
                          const Vector<double>& roots, Index count, bool grouped) {
  const IndexList places = smallest_keys(context, kernel.rows, count);
  const GatheredRows centres(kernel.rows, places);
  Matrix<double> T = Matrix<double>::Ones(static_cast<Index>(places.size()), problem.T.cols() + grouped);
  for (Index i = 0; i < T.rows(); ++i)
    T.row(i).tail(problem.T.cols()) = problem.T.row(places[static_cast<std::size_t>(i)]);
  const CentreFunctions functions =
      centre_functions(context, kernel.formula, centres.view(), T, problem.tolerance, kRankTolerance);
  const Index r = functions.whitening.rank();
  if (r == 0) return {};  // the features express all that the kernel does
  const GatheredRows used(centres.view(), functions.used);
  Matrix<double> Bt(r, problem.T.rows());
  whitened_rows(context, functions.whitening, KernelAtCentres{kernel.formula, kernel.rows, used.view()},
                Bt.data());
  return {context, std::move(Bt), roots};
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
  const Basis basis = pivot_basis(T, Pivots::qr, dependence, &context);
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

double matrix_free_bytes(Index m, Index n_columns, Index n_centres) {
  require_count(n_columns, "right-hand sides");
  const Index M = preconditioner_centres(m, n_centres);
  const auto rows = static_cast<double>(m), centres = static_cast<double>(M);
  return 8 * rows * centres + centres_bytes(M) + symmetric_sums_bytes(m, n_columns) +
         8 * 8 * rows * static_cast<double>(n_columns);
}

MatrixFree::MatrixFree(const Context& context, const Problem& problem, const IndexList& groups, Draw draw,
                       Index n_centres)
    : kernel_(kernel_of(problem)), roots_(problem.weights.array().sqrt()) {
  const auto start = std::chrono::steady_clock::now();
  const Index m = problem.T.rows();
  Matrix<double> T = weighted(problem.T);
  const bool grouped = !groups.empty();
  if (grouped) {
    require(static_cast<Index>(groups.size()) == m, "got groups of ", groups.size(), " samples, there are ",
            m);
    groups_ = GroupMeans(groups, roots_);
    feature_means_ = groups_.means(T);
    T = left_by_groups(std::move(T), problem.tolerance);
  }
  basis_ = orthonormal_basis(T, problem.tolerance, &context);
  const Index l = basis_.rank();
  Q_ = Matrix<double>::Zero(m, l);
  Q_.bottomRows(l).setIdentity();
  Q_ = basis_.times(Q_);
  const Index count = preconditioner_centres(m, n_centres);
  functions_ = draw == Draw::pivoted ? LowRank::pivoted(context, kernel_, roots_, count)
                                     : uniform_functions(context, problem, kernel_, roots_, count, grouped);
  functions_.project(context, Q_, groups_);
  PhiQ_ = l > 0 ? kernel_product<double>(context, Q_) : Q_;
  Vector<double> diagonal = kernel_diagonal<double>(context, kernel_.formula, kernel_.rows);
  if (roots_.size() > 0) diagonal.array() *= roots_.array().square();
  trace_ = diagonal.sum() - (Q_.array() * PhiQ_.array()).sum();
  if (grouped) trace_ -= trace_within_groups(context);
  seconds_ = seconds_since(start);
}

Matrix<double> MatrixFree::weighted(const Matrix<double>& X) const {
  return roots_.size() > 0 ? Matrix<double>(roots_.asDiagonal() * X) : X;
}

// What the effects of groups leave of weighted features T (m, l). A column of which that is no more than the
// share `tolerance` is zero: the groups express it. Twice, so that little that is left is free of rounding.
Matrix<double> MatrixFree::left_by_groups(Matrix<double> T, double tolerance) const {
  const Eigen::RowVectorXd before = T.colwise().norm();
  for (int pass = 0; pass < 2; ++pass) groups_.take_off(T);
  for (Index p = 0; p < T.cols(); ++p)
    if (!(T.col(p).norm() > tolerance * before[p])) T.col(p).setZero();
  return T;
}

// The sum over the groups of 1ᵀWΦW1 / w_g, each of its own samples.
double MatrixFree::trace_within_groups(const Context& context) const {
  struct Piece {
    Index g, i, j;  // the places that its rows and columns begin at
  };
  std::vector<Piece> pieces;
  double work = 0;
  for (Index g = 0; g < groups_.groups(); ++g)
    for (Index j = groups_.start(g); j < groups_.start(g + 1); j += kTileOfGroup)
      for (Index i = j; i < groups_.start(g + 1); i += kTileOfGroup) {
        pieces.push_back({g, i, j});
        work += static_cast<double>(kTileOfGroup) * static_cast<double>(kTileOfGroup);
      }
  const KernelTiles<double> tiles(context, kernel_.formula, kernel_.rows, groups_.samples());
  std::vector<KernelTiles<double>::Scratch> scratch(static_cast<std::size_t>(context.threads()));
  std::vector<double> sums(pieces.size());
  parallel_for(context, static_cast<Index>(pieces.size()), workers_for(context, work * tiles.work()),
               [&](Index t, const Worker& worker) {
                 const Piece piece = pieces[static_cast<std::size_t>(t)];
                 const Index end = groups_.start(piece.g + 1);
                 const Index ni = std::min(kTileOfGroup, end - piece.i);
                 const Index nj = std::min(kTileOfGroup, end - piece.j);
                 Matrix<double> K(ni, nj);
                 tiles.evaluate(piece.i, ni, piece.j, nj, K.data(), ni,
                                scratch[static_cast<std::size_t>(worker.id())]);
                 const auto weights = [&](Index first, Index count) {
                   Vector<double> w(count);
                   for (Index p = 0; p < count; ++p)
                     w[p] = std::pow(groups_.root(groups_.samples()[static_cast<std::size_t>(first + p)]), 2);
                   return w;
                 };
                 const double sum = weights(piece.i, ni).dot(K * weights(piece.j, nj));
                 sums[static_cast<std::size_t>(t)] =
                     (piece.i == piece.j ? 1.0 : 2.0) * sum / groups_.weight(piece.g);
               });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// W½ΦW½ V; columns that are zero cost nothing.
template <class S>
Matrix<double> MatrixFree::kernel_product(const Context& context, const Matrix<double>& V) const {
  const IndexList at_work = nonzero_columns(V);
  Matrix<double> out = Matrix<double>::Zero(V.rows(), V.cols());
  if (at_work.empty()) return out;
  const Matrix<double> some = weighted(V(Eigen::all, at_work));
  if constexpr (std::is_same_v<S, float>) {
    // Columns of length one: float32 neither overflows nor underflows.
    Eigen::RowVectorXd lengths = some.colwise().norm();
    for (double& length : lengths) length = length > 0 ? length : 1;
    const Matrix<float> single = (some * lengths.cwiseInverse().asDiagonal()).template cast<float>();
    out(Eigen::all, at_work) = symmetric_kernel_times<float>(context, kernel_.formula, kernel_.rows, single)
                                   .template cast<double>() *
                               lengths.asDiagonal();
  } else {
    out(Eigen::all, at_work) = symmetric_kernel_times<double>(context, kernel_.formula, kernel_.rows, some);
  }
  return roots_.size() > 0 ? Matrix<double>(roots_.asDiagonal() * out) : out;
}

Precision MatrixFree::precision_of(Precision asked) const {
  if (asked != Precision::automatic) return asked;
  return samples() >= kMixedFrom ? Precision::mixed : Precision::float64;
}

void MatrixFree::project(Matrix<double>& X) const {
  Eigen::RowVectorXd before(X.cols());
  for (Index p = 0; p < X.cols(); ++p) before[p] = X.col(p).stableNorm();
  for (int pass = 0; pass < 2; ++pass) project_once(X);
  for (Index p = 0; p < X.cols(); ++p)
    if (X.col(p).stableNorm() <= kExpressed * before[p]) X.col(p).setZero();
}

void MatrixFree::project_once(Matrix<double>& X) const {
  require(X.rows() == samples(), "there are ", X.rows(), " rows for ", samples(), " samples");
  if (groups_.groups() > 0) groups_.take_off(X);
  if (Q_.cols() > 0) X -= product(Q_, transposed_product(Q_, X));
}

Matrix<double> MatrixFree::multiply(const Context& context, const Matrix<double>& V) const {
  require(V.rows() == samples(), "there are ", V.rows(), " rows for ", samples(), " samples");
  Matrix<double> out = kernel_product<double>(context, V);
  project(out);
  return out;
}

Matrix<double> MatrixFree::coordinates(const Context& context, const Matrix<double>& V) const {
  return functions_.coordinates(context, V);
}

Gradients<Matrix<double>> MatrixFree::solve(const Context& context, const Matrix<double>& B, double shift,
                                            Precision precision, const GradientsOptions& options,
                                            const std::optional<FirstGuess<Matrix<double>>>& guess) const {
  require(B.rows() == samples(), "there are ", B.rows(), " rows for ", samples(), " samples");
  require(shift > 0 && std::isfinite(shift), "conjugate gradients need a positive regularization");
  const LowRank::Inverse inverse(context, functions_, shift);
  LinearSystem<Matrix<double>> system;
  const auto finish = [&](const Matrix<double>& V, Matrix<double> image, Matrix<double>& out) {
    project_once(image);
    out = image + shift * V;
  };
  system.multiply = [&](const Matrix<double>& V, Matrix<double>& out) {
    finish(V, kernel_product<double>(context, V), out);
  };
  if (precision_of(precision) != Precision::float64)
    system.multiply_roughly = [&](const Matrix<double>& V, Matrix<double>& out) {
      finish(V, kernel_product<float>(context, V), out);
    };
  system.precondition = [&](Matrix<double>& R) {
    const IndexList at_work = nonzero_columns(R);
    if (static_cast<Index>(at_work.size()) == R.cols()) return inverse(context, R);
    Matrix<double> some = R(Eigen::all, at_work);
    inverse(context, some);
    R(Eigen::all, at_work) = some;
  };
  return conjugate_gradients(context, system, B, options, guess);
}

MatrixFreeSolution MatrixFree::fit(const Context& context, const Matrix<double>& targets, double shift,
                                   Precision precision, const GradientsOptions& options,
                                   const std::optional<FirstGuess<Matrix<double>>>& guess) const {
  const auto start = std::chrono::steady_clock::now();
  const Index m = samples(), k = targets.cols(), l = Q_.cols();
  require(targets.rows() == m, "the targets have ", targets.rows(), " rows, the kernel ", m, " samples");
  const Matrix<double> Y = weighted(targets);
  Matrix<double> rhs(m, k + l);
  rhs.leftCols(k) = Y;
  rhs.rightCols(l) = PhiQ_;
  project(rhs);
  // The covariance of β is known to better than the square of the residuals of its columns.
  GradientsOptions relaxed = options;
  relaxed.relaxed = Vector<double>::Ones(k + l);
  relaxed.relaxed.tail(l).setConstant(std::max(1.0, std::pow(options.tolerance, -kRelaxed)));
  std::optional<FirstGuess<Matrix<double>>> begin;
  if (guess) {
    require(
        guess->X.rows() == m && guess->X.cols() == k && guess->image.rows() == m && guess->image.cols() == k,
        "the first guess and its image must have the shape of the targets, (", m, ", ", k, ")");
    begin.emplace(FirstGuess<Matrix<double>>{Matrix<double>::Zero(m, k + l), Matrix<double>::Zero(m, k + l)});
    begin->X.leftCols(k) = guess->X;
    begin->image.leftCols(k) = guess->image;
    project(begin->X);
    project(begin->image);
  }
  const Gradients<Matrix<double>> solved = solve(context, rhs, shift, precision, relaxed, begin);
  const auto z = solved.X.leftCols(k), across = solved.X.rightCols(l);
  MatrixFreeSolution out;
  out.solution.c = weighted(z);
  out.solution.beta =
      basis_.feature_coefficients(transposed_product(Q_, Y) - transposed_product(PhiQ_, z), &context);
  out.solution.quadratic = (Y.array() * z.array()).colwise().sum().transpose();
  // bᵀA⁻¹b = bᵀx + xᵀr + rᵀA⁻¹r, r = b - Ax, with the preconditioner for A in the last term.
  const Matrix<double> left = rhs.rightCols(l) - solved.image.rightCols(l);
  Matrix<double> preconditioned = left;
  LowRank::Inverse(context, functions_, shift)(context, preconditioned);
  const Matrix<double> explained = transposed_product(PhiQ_, across) + transposed_product(across, left) +
                                   transposed_product(left, preconditioned);
  const Matrix<double> spread = transposed_product(Q_, PhiQ_) + shift * Matrix<double>::Identity(l, l) -
                                0.5 * (explained + explained.transpose());
  const Matrix<double> half = basis_.feature_coefficients(spread, &context);
  out.solution.feature_covariance = basis_.feature_coefficients(half.transpose(), &context);
  out.solution.kept = basis_.kept;
  out.solution.precision = precision_of(precision);
  out.solution.iterations = solved.iterations;
  if (solved.residuals.size() > 0)
    out.residual = (solved.residuals.array() / relaxed.relaxed.array()).maxCoeff();
  out.status = solved.status;
  out.seconds = seconds_since(start);
  return out;
}

FreePart MatrixFree::free_part(const Context& context, const Matrix<double>& Y,
                               const Matrix<double>& c) const {
  const Index m = samples(), k = Y.cols();
  require(Y.rows() == m && c.rows() == m && c.cols() == k, "the targets have shape (", Y.rows(), ", ", k,
          "), the coefficients (", c.rows(), ", ", c.cols(), ") for ", m, " samples");
  const Matrix<double> z = roots_.size() > 0 ? Matrix<double>(roots_.cwiseInverse().asDiagonal() * c) : c;
  const Matrix<double> weighted_Y = weighted(Y);
  FreePart out;
  out.beta = basis_.feature_coefficients(Q_.transpose() * weighted_Y - PhiQ_.transpose() * z, &context);
  out.effects.resize(0, k);
  if (groups_.groups() > 0)
    out.effects = groups_.means(weighted_Y - kernel_product<double>(context, z)) - feature_means_ * out.beta;
  return out;
}

// What is in the groups of the points, of the p that has their features: W½D (DᵀWD)⁻¹ d, (m, n).
Matrix<double> MatrixFree::in_groups(const AskedPoints& points) const {
  const Index n = points.T.rows(), all = groups_.groups();
  Matrix<double> out = Matrix<double>::Zero(samples(), n);
  for (Index j = 0; j < n; ++j) {
    const Index g = points.groups[static_cast<std::size_t>(j)];
    for (Index i = 0; i < samples(); ++i) {
      if (g == all)
        out(i, j) = groups_.root(i) / groups_.total();
      else if (groups_.group(i) == g)
        out(i, j) = groups_.root(i) / groups_.weight(g);
    }
  }
  return out;
}

// The features T (n, l) of the points about their means in the groups of these.
Matrix<double> MatrixFree::about_groups(const AskedPoints& points) const {
  Vector<double> shares(groups_.groups());
  for (Index g = 0; g < groups_.groups(); ++g) shares[g] = groups_.weight(g) / groups_.total();
  const Eigen::RowVectorXd mean = shares.transpose() * feature_means_;
  Matrix<double> T = points.T;
  for (Index j = 0; j < T.rows(); ++j) {
    const Index g = points.groups[static_cast<std::size_t>(j)];
    T.row(j) -= g == groups_.groups() ? mean : Eigen::RowVectorXd(feature_means_.row(g));
  }
  return T;
}

Matrix<double> MatrixFree::add_to_covariance(const Context& context, const AskedPoints& points, double shift,
                                             Precision precision, const GradientsOptions& options,
                                             bool diagonal, Status& status) const {
  const Index n = points.K.cols(), l = Q_.cols(), G = groups_.groups();
  require(points.K.rows() == samples(), "kernel values are with ", points.K.rows(), " samples, there are ",
          samples());
  require(points.T.rows() == n && points.T.cols() == basis_.n_features, "the features have shape (",
          points.T.rows(), ", ", points.T.cols(), "), expected (", n, ", ", basis_.n_features, ")");
  require(static_cast<Index>(points.groups.size()) == (G > 0 ? n : 0), "got the groups of ",
          points.groups.size(), " points, expected ", G > 0 ? n : 0);
  for (const Index g : points.groups) require(g >= 0 && g <= G, "a point is in group ", g, " of ", G);
  // Cᵀτ = t: column p of C⁻¹ is what the coefficients make of the p-th unit vector.
  const Matrix<double> inverse =
      basis_.feature_coefficients(Matrix<double>::Identity(l, l), &context);  // (all, l)
  const Matrix<double> T = G > 0 ? about_groups(points) : points.T;
  const Matrix<double> tau = product(T, inverse).transpose();       // (l, n)
  Matrix<double> P = product(Q_, tau), PhiP = product(PhiQ_, tau);  // (m, n)
  if (G > 0) {
    const Matrix<double> grouped = in_groups(points);
    P += grouped;
    PhiP += kernel_product<double>(context, grouped);
  }
  const Matrix<double> V = weighted(points.K);
  Matrix<double> right = V - PhiP;
  project(right);
  const Gradients<Matrix<double>> solved = solve(context, right, shift, precision, options);
  status = solved.status;
  const Matrix<double> explained = 2 * right - solved.image;
  const Matrix<double> own = PhiP + shift * P - 2 * V;
  if (diagonal)
    return ((P.array() * own.array()).colwise().sum() -
            (solved.X.array() * explained.array()).colwise().sum())
        .matrix()
        .transpose();
  const Matrix<double> whole = transposed_product(P, own) - transposed_product(solved.X, explained);
  return 0.5 * (whole + whole.transpose());
}

}  // namespace grls
