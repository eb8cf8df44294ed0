#include "least_squares/path.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"

namespace grls {
namespace {

constexpr Index kBlock = 32;  // b: wide enough for matrix products, narrow enough for cheap factors
static_assert(kNarrowestBlock % kBlock == 0, "a panel must lie within one block column");
constexpr Index kStrip = 256;    // rows of Qᵀ a task takes
constexpr Index kSamples = 128;  // samples a task takes through all the shifts

// The compact form I - V F Vᵀ of the reflectors a QR factorisation left below the diagonal of `panel` (rows,
// r).
struct Reflectors {
  Matrix<double> V, F;
};

Reflectors compact(const double* panel, Index rows, Index ld, const Vector<double>& tau) {
  const Index r = tau.size();
  Reflectors q{Matrix<double>::Zero(rows, r), Matrix<double>::Zero(r, r)};
  const Eigen::Map<const Matrix<double>, 0, Eigen::OuterStride<>> below(panel, rows, r,
                                                                        Eigen::OuterStride<>(ld));
  q.V.triangularView<Eigen::StrictlyLower>() = below;
  q.V.topRows(r).diagonal().setOnes();
  Matrix<double> inner(r, r);
  blas::gemm(blas::Op::transpose, blas::Op::none, r, r, rows, 1.0, q.V.data(), rows, q.V.data(), rows, 0.0,
             inner.data(), r);
  for (Index p = 0; p < r; ++p) {
    q.F.col(p).head(p) = -tau[p] * (q.F.topLeftCorner(p, p) * inner.col(p).head(p));
    q.F(p, p) = tau[p];
  }
  return q;
}

// B: diagonal blocks D_j (symmetric) and E_j = B[j + 1, j].
struct BlockTridiagonal {
  Index n = 0;
  std::vector<Matrix<double>> D, E;

  Index blocks() const { return static_cast<Index>(D.size()); }
  static Index start(Index j) { return j * kBlock; }
};

// Reduces the leading (n, n) block of A in place; the reflectors stay below the band.
class Reduction {
 public:
  Reduction(const Context& context, BlockTriangle<double>& A) : A_(A), n_(A.pivots()) {
    for (Index c = 0; c + 2 * kBlock < n_; c += kBlock) {
      const Index from = c + kBlock, rows = n_ - from;
      Vector<double> tau(kBlock);
      blas::geqrf(rows, kBlock, panel(c), ld(c), tau.data());
      const Reflectors q = compact(panel(c), rows, ld(c), tau);
      transform(context, A_, from, n_, q.V, Matrix<double>(q.V * q.F));
      taus_.push_back(tau);
      context.poll();
    }
  }

  BlockTridiagonal band() const {
    BlockTridiagonal B;
    B.n = n_;
    for (Index c = 0; c < n_; c += kBlock) {
      const Index width = std::min(kBlock, n_ - c), next = std::min(kBlock, n_ - c - width);
      Matrix<double> D(width, width), E = Matrix<double>::Zero(next, width);
      const bool reduced = c / kBlock < static_cast<Index>(taus_.size());
      for (Index q = 0; q < width; ++q) {
        for (Index i = q; i < width; ++i) D(i, q) = D(q, i) = *A_.column(c + i, c + q);
        for (Index i = 0; i < next && (!reduced || i <= q); ++i) E(i, q) = *A_.column(c + width + i, c + q);
      }
      B.D.push_back(D);
      if (next > 0) B.E.push_back(E);
    }
    return B;
  }

  // X (n, k) = QᵀX
  Matrix<double> transposed_times(Matrix<double> X) const {
    for (std::size_t p = 0; p < taus_.size(); ++p) {
      const Reflectors q = reflectors(p);
      auto rest = X.bottomRows(q.V.rows());
      rest -= q.V * (q.F.transpose() * (q.V.transpose() * rest));
    }
    return X;
  }

  // G (n, n) = Qᵀ, from the last reflectors to the first: each touches only what those after it have.
  void transposed(const Context& context, Eigen::Ref<Matrix<double>> G) const {
    G.setIdentity();
    for (std::size_t p = taus_.size(); p-- > 0;) {
      const Reflectors q = reflectors(p);
      const Index rows = q.V.rows(), from = n_ - rows;
      const double work = 4.0 * static_cast<double>(rows) * static_cast<double>(rows) * kBlock;
      parallel_for(context, (rows + kStrip - 1) / kStrip, workers_for(context, work),
                   [&](Index t, const Worker&) {
                     const Index first = from + kStrip * t, count = std::min(kStrip, n_ - first);
                     // G (I - V F Vᵀ)ᵀ = G - (G V) Fᵀ Vᵀ
                     Matrix<double> GV(count, kBlock);
                     double* const g = G.data() + from * n_ + first;
                     blas::gemm(blas::Op::none, blas::Op::none, count, kBlock, rows, 1.0, g, n_, q.V.data(),
                                rows, 0.0, GV.data(), count);
                     const Matrix<double> GVF = GV * q.F.transpose();
                     blas::gemm(blas::Op::none, blas::Op::transpose, count, rows, kBlock, -1.0, GVF.data(),
                                count, q.V.data(), rows, 1.0, g, n_);
                   });
    }
  }

 private:
  double* panel(Index c) { return const_cast<double*>(A_.column(c + kBlock, c)); }
  const double* panel(Index c) const { return A_.column(c + kBlock, c); }
  Index ld(Index c) const { return A_.ld_of(c); }
  Reflectors reflectors(std::size_t p) const {
    const Index c = static_cast<Index>(p) * kBlock;
    return compact(panel(c), n_ - c - kBlock, ld(c), taus_[p]);
  }

  BlockTriangle<double>& A_;
  Index n_;
  std::vector<Vector<double>> taus_;
};

// B + sI = LLᵀ with L block bidiagonal. The inverses of its diagonal blocks turn every later solve into
// products.
struct BandFactor {
  std::vector<Matrix<double>> inverse;  // L_jj⁻¹
  std::vector<Matrix<double>> carry;    // L_jj⁻¹ L_j,j-1, j >= 1; the first is empty
  double log_determinant = 0;
  bool definite = true;  // otherwise the rest is not filled in

  BandFactor(const BlockTridiagonal& B, double shift) {
    Matrix<double> previous;  // L_j,j-1
    for (Index j = 0; j < B.blocks(); ++j) {
      Matrix<double> S = B.D[static_cast<std::size_t>(j)];
      S.diagonal().array() += shift;
      if (j > 0) {
        previous = B.E[static_cast<std::size_t>(j - 1)] * inverse.back().transpose();
        S -= previous * previous.transpose();
      }
      const Eigen::LLT<Matrix<double>> llt(S);
      definite = llt.info() == Eigen::Success;
      if (!definite) return;
      Matrix<double> inv = Matrix<double>::Identity(S.rows(), S.rows());
      llt.matrixL().solveInPlace(inv);
      carry.push_back(j > 0 ? Matrix<double>(inv * previous) : Matrix<double>());
      inverse.push_back(inv);
      log_determinant += 2 * Matrix<double>(llt.matrixL()).diagonal().array().log().sum();
    }
  }

  Index blocks() const { return static_cast<Index>(inverse.size()); }

  // W = L⁻¹ X, X (n, k)
  Matrix<double> forward(const Matrix<double>& X) const {
    Matrix<double> W(X.rows(), X.cols());
    for (Index j = 0; j < blocks(); ++j) {
      const Matrix<double>& inv = inverse[static_cast<std::size_t>(j)];
      const Index at = BlockTridiagonal::start(j), size = inv.rows();
      W.middleRows(at, size) = inv * X.middleRows(at, size);
      if (j > 0)
        W.middleRows(at, size) -= carry[static_cast<std::size_t>(j)] * W.middleRows(at - kBlock, kBlock);
    }
    return W;
  }

  // Z = L⁻ᵀ W
  Matrix<double> backward(const Matrix<double>& W) const {
    Matrix<double> Z(W.rows(), W.cols());
    Matrix<double> rest = W;
    for (Index j = blocks() - 1; j >= 0; --j) {
      const Matrix<double>& inv = inverse[static_cast<std::size_t>(j)];
      const Index at = BlockTridiagonal::start(j), size = inv.rows();
      Z.middleRows(at, size) = inv.transpose() * rest.middleRows(at, size);
      // L_j,j-1ᵀ Z_j = carry_jᵀ L_jjᵀ Z_j = carry_jᵀ rest_j
      if (j > 0)
        rest.middleRows(at - kBlock, kBlock) -=
            carry[static_cast<std::size_t>(j)].transpose() * rest.middleRows(at, size);
    }
    return Z;
  }

  // tr (LLᵀ)⁻¹ = Σ_j |L⁻¹ e|² over the columns of block j, by the recursion of the diagonal blocks of the
  // inverse: S_jj = L_jj⁻ᵀ (I + L_j+1,jᵀ S_j+1,j+1 L_j+1,j) L_jj⁻¹
  double trace() const {
    double sum = 0;
    Matrix<double> K;  // carry_j+1 L… folded: L_j+1,jᵀ S_j+1,j+1 L_j+1,j
    for (Index j = blocks() - 1; j >= 0; --j) {
      const Matrix<double>& inv = inverse[static_cast<std::size_t>(j)];
      Matrix<double> middle = Matrix<double>::Identity(inv.rows(), inv.rows());
      if (j + 1 < blocks()) middle += K;
      sum += (inv.transpose() * middle * inv).trace();
      // With S_jj = inv ᵀ middle inv and L_j,j-1 = L_jj carry_j: L_j,j-1ᵀ S_jj L_j,j-1 = carry_jᵀ middle
      // carry_j.
      if (j > 0)
        K = carry[static_cast<std::size_t>(j)].transpose() * middle * carry[static_cast<std::size_t>(j)];
    }
    return sum;
  }
};

// B_ii = |L⁻¹u_i|² and UᵀZ for all samples and shifts. U = (NQ)ᵀ (n, m): one column per sample.
void per_sample(const Context& context, const Matrix<double>& U, const std::vector<BandFactor>& factors,
                const std::vector<Matrix<double>>& Z, std::vector<Vector<double>>& diagonals,
                std::vector<Matrix<double>>& products) {
  const Index n = U.rows(), m = U.cols();
  const auto strip = [&](Index first, Index count, std::size_t g, Matrix<double>& W, Matrix<double>& last) {
    const BandFactor& factor = factors[g];
    Vector<double> diagonal = Vector<double>::Zero(count);
    for (Index j = 0; j < factor.blocks(); ++j) {
      const Matrix<double>& inv = factor.inverse[static_cast<std::size_t>(j)];
      const Matrix<double>& carry = factor.carry[static_cast<std::size_t>(j)];
      const Index size = inv.rows();
      blas::gemm(blas::Op::none, blas::Op::none, size, count, size, 1.0, inv.data(), size,
                 U.data() + first * n + BlockTridiagonal::start(j), n, 0.0, W.data(), kBlock);
      if (j > 0)
        blas::gemm(blas::Op::none, blas::Op::none, size, count, kBlock, -1.0, carry.data(), size, last.data(),
                   kBlock, 1.0, W.data(), kBlock);
      diagonal += W.topRows(size).colwise().squaredNorm().transpose();
      W.swap(last);
    }
    diagonals[g].segment(first, count) = diagonal;
    blas::gemm(blas::Op::transpose, blas::Op::none, count, Z[g].cols(), n, 1.0, U.data() + first * n, n,
               Z[g].data(), n, 0.0, products[g].data() + first, m);
  };
  const double work = 4.0 * static_cast<double>(n) * static_cast<double>(m) * kBlock;
  parallel_for(context, (m + kSamples - 1) / kSamples, workers_for(context, work),
               [&](Index t, const Worker& worker) {
                 const Index first = t * kSamples, count = std::min(kSamples, m - first);
                 Matrix<double> W(kBlock, count), last(kBlock, count);
                 for (std::size_t g = 0; g < factors.size() && !worker.stopped(); ++g) {
                   if (factors[g].definite) strip(first, count, g, W, last);
                   if (worker.id() == 0) context.poll();
                 }
               });
}

// Shares of the kernel below which what the features leave of it is made of rounding errors. Those of the
// matrix are a few units in the last place on average; those of the columns it is the square of, some dozens.
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kRounding = 32 * kEpsilon;
constexpr double kColumnRounding = 1000 * kEpsilon;

// mean: eigenvalue of H; left, whole: mean sizes of the diagonals of H and Φ; share: of `whole` that rounding
// errors may be.
Scale scale_of(double mean, double left, double whole, double share, double rounding) {
  if (left > share * whole) return {mean, false, rounding};
  return {whole > 0 ? whole : 1, true, rounding};
}

}  // namespace

Scale scale_of(const BlockTriangle<double>& A, Index m) {
  const Index n = A.pivots();
  double trace = 0, left = 0;  // the kernel need not be definite: its diagonal may have either sign
  for (Index c = 0; c < n; ++c) {
    trace += *A.column(c, c);
    left += std::abs(*A.column(c, c));
  }
  const double whole = left + symmetric_corner(A, n, m).diagonal().cwiseAbs().sum();
  const auto free = static_cast<double>(n);
  return scale_of(trace / free, left / free, whole / static_cast<double>(m), kRounding, kEpsilon * whole);
}

Path regularization_path(const Context& context, const Problem& problem, const Vector<double>& shifts,
                         bool relative, bool leave_one_out) {
  require(problem.formulation == Formulation::exact, "the regularization path needs formulation='exact'");
  require(shifts.size() > 0 && shifts.minCoeff() > 0, "the shifts of a path must be positive");
  const Assembled<double> assembled = assemble_problem<double>(context, problem);
  const Basis& basis = assembled.basis;
  BlockTriangle<double>& A = *assembled.A;
  const Index m = problem.Y.rows(), n = A.pivots(), k = problem.Y.cols(), l = m - n;

  Path path;
  path.kept = basis.kept;
  path.scale = scale_of(A, m);
  path.shifts = relative ? Vector<double>(shifts * path.scale.unit) : shifts;
  const Matrix<double> M21 = rows_of(A, n, m, n), M22 = symmetric_corner(A, n, m);
  const Reduction reduction(context, A);
  const BlockTridiagonal B = reduction.band();
  Matrix<double> rhs(n, k + l);  // NᵀY and M₁₂, whose solutions D and the Schur complement are made of
  rhs << assembled.B.topRows(n), M21.transpose();
  rhs = reduction.transposed_times(rhs);

  const Index g = path.shifts.size();
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  path.log_determinant.setConstant(g, unknown);
  path.trace.setConstant(g, unknown);
  path.quadratic.setConstant(g, k, unknown);
  path.squared_norm.setConstant(g, k, unknown);
  path.schur.assign(static_cast<std::size_t>(g), Matrix<double>::Constant(l, l, unknown));
  path.r.assign(static_cast<std::size_t>(g), Matrix<double>::Constant(l, k, unknown));
  std::vector<BandFactor> factors;
  std::vector<Matrix<double>> Z(static_cast<std::size_t>(g));
  for (Index p = 0; p < g; ++p) {
    const auto at = static_cast<std::size_t>(p);
    if (!leave_one_out) factors.clear();
    factors.emplace_back(B, path.shifts[p]);
    const BandFactor& factor = factors.back();
    if (!factor.definite) continue;
    const Matrix<double> W = factor.forward(rhs);
    Z[at] = factor.backward(W);
    path.log_determinant[p] = factor.log_determinant;
    path.trace[p] = factor.trace();
    path.quadratic.row(p) = W.leftCols(k).colwise().squaredNorm();
    path.squared_norm.row(p) = Z[at].leftCols(k).colwise().squaredNorm();
    path.schur[at] = M22 - W.rightCols(l).transpose() * W.rightCols(l);
    path.schur[at].diagonal().array() += path.shifts[p];
    path.r[at] = assembled.B.bottomRows(l) - W.rightCols(l).transpose() * W.leftCols(k);
    context.poll();
  }
  if (!leave_one_out) return path;

  // U = (NQ)ᵀ = [Qᵀ 0] - Qᵀ V_top Zᵀ
  Matrix<double> U(n, m);
  reduction.transposed(context, U.leftCols(n));
  U.rightCols(l).setZero();
  if (l > 0) {
    Matrix<double> GV(n, l);
    blas::gemm(blas::Op::none, blas::Op::none, n, l, n, 1.0, U.data(), n, basis.V.data(), m, 0.0, GV.data(),
               n);
    blas::gemm(blas::Op::none, blas::Op::transpose, n, m, l, -1.0, GV.data(), n, basis.Z.data(), m, 1.0,
               U.data(), n);
  }
  path.diagonal.assign(static_cast<std::size_t>(g), Vector<double>::Constant(m, unknown));
  std::vector<Matrix<double>> products(static_cast<std::size_t>(g),
                                       Matrix<double>::Constant(m, k + l, unknown));
  per_sample(context, U, factors, Z, path.diagonal, products);
  // D = Q₁ - N (H + sI)⁻¹ M₁₂
  Matrix<double> last_columns = Matrix<double>::Zero(m, l);
  last_columns.bottomRows(l).setIdentity();
  const Matrix<double> Q1 = basis.times(last_columns);
  for (const Matrix<double>& product : products) {
    path.c.push_back(product.leftCols(k));
    path.D.push_back(Q1 - product.rightCols(l));
  }
  return path;
}

Path ridge_path(const Context& context, const RidgeProblem& problem, const Vector<double>& shifts,
                bool relative) {
  require(shifts.size() > 0 && shifts.minCoeff() > 0, "the shifts of a path must be positive");
  const FeatureSpan span(problem);
  const ProjectedColumns projected(context, problem.rows, span);
  const Index m = problem.Y.rows(), d = projected.B.cols(), k = problem.Y.cols(), n = m - span.Q.cols();
  const Matrix<double> Y = span.Y - span.Q * (span.Q.transpose() * span.Y);
  const double missing = static_cast<double>(n - d);  // eigenvalues 0 that BBᵀ has more than BᵀB

  BlockTriangle<double> A(d, d);
  const Formula linear = linear_formula();
  const Rows columns = projected.columns();
  fill_gram<double>(context, KernelTiles<double>(context, linear, columns), Vector<double>(), A);
  Path path;
  path.kept = span.basis.kept;
  double trace = 0;
  for (Index c = 0; c < d; ++c) trace += *A.column(c, c);
  const double mean = trace / static_cast<double>(n);
  const double whole = trace + projected.inside.squaredNorm();
  path.scale = scale_of(mean, mean, whole / static_cast<double>(m), kColumnRounding * kColumnRounding,
                        kEpsilon * std::sqrt(trace * whole));
  path.shifts = relative ? Vector<double>(shifts * path.scale.unit) : shifts;
  const Reduction reduction(context, A);
  const BlockTridiagonal band = reduction.band();
  const Matrix<double> rhs = reduction.transposed_times(projected.transposed_times(Y));

  // U = QᵀBᵀ: one column per sample
  Matrix<double> U(d, m), G(d, d);
  reduction.transposed(context, G);
  const double work = 2.0 * static_cast<double>(d) * static_cast<double>(d) * static_cast<double>(m);
  parallel_for(context, (m + kSamples - 1) / kSamples, workers_for(context, work),
               [&](Index t, const Worker&) {
                 const Index first = t * kSamples, count = std::min(kSamples, m - first);
                 blas::gemm(blas::Op::none, blas::Op::transpose, d, count, d, 1.0, G.data(), d,
                            projected.B.data() + first, m, 0.0, U.data() + first * d, d);
               });

  const Index g = path.shifts.size();
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  path.log_determinant.setConstant(g, unknown);
  path.trace.setConstant(g, unknown);
  path.quadratic.setConstant(g, k, unknown);
  path.squared_norm.setConstant(g, k, unknown);
  path.schur.assign(static_cast<std::size_t>(g), Matrix<double>(0, 0));
  path.r.assign(static_cast<std::size_t>(g), Matrix<double>(0, k));
  path.D.assign(static_cast<std::size_t>(g), Matrix<double>(m, 0));
  path.diagonal.assign(static_cast<std::size_t>(g), Vector<double>::Constant(m, unknown));
  path.c.assign(static_cast<std::size_t>(g), Matrix<double>::Constant(m, k, unknown));
  std::vector<BandFactor> factors;
  std::vector<Matrix<double>> V(static_cast<std::size_t>(g));  // the coefficients, in the basis of U
  for (Index p = 0; p < g; ++p) {
    factors.emplace_back(band, path.shifts[p]);
    if (factors.back().definite)
      V[static_cast<std::size_t>(p)] = factors.back().backward(factors.back().forward(rhs));
    context.poll();
  }
  per_sample(context, U, factors, V, path.diagonal, path.c);
  // (BBᵀ + sI)⁻¹ = (I - B (BᵀB + sI)⁻¹ Bᵀ) / s on what the features leave
  const Vector<double> taken = span.Q.rowwise().squaredNorm();
  for (Index p = 0; p < g; ++p) {
    const auto at = static_cast<std::size_t>(p);
    if (!factors[at].definite) continue;
    const double s = path.shifts[p];
    path.c[at] = (Y - path.c[at]) / s;
    path.diagonal[at] = (1 - taken.array() - path.diagonal[at].array()) / s;
    path.log_determinant[p] = factors[at].log_determinant + missing * std::log(s);
    path.trace[p] = factors[at].trace() + missing / s;
    path.squared_norm.row(p) = path.c[at].colwise().squaredNorm();
    // yᵀc = s|c|² + |V|²: no cancellation
    path.quadratic.row(p) = s * path.squared_norm.row(p) + V[at].colwise().squaredNorm();
  }
  return path;
}

double path_bytes(Index m, Index n_outputs, Index n_shifts, bool leave_one_out, Index n_features) {
  require_count(m, "samples");
  require_count(n_outputs, "outputs");
  require_count(n_shifts, "shifts");
  require_count(n_features, "features");
  const auto rows = static_cast<double>(m),
             columns = static_cast<double>(n_outputs) + static_cast<double>(n_features);
  const double matrix = BlockTriangle<double>::bytes(m);
  if (!leave_one_out) return matrix;
  return matrix + 8 * rows * rows + 8 * rows * static_cast<double>(n_shifts) * (2 * kBlock + 1 + 3 * columns);
}

double ridge_path_bytes(Index n, Index d, Index n_outputs, Index n_shifts) {
  require_count(n, "samples");
  require_count(d, "columns");
  require_count(n_outputs, "outputs");
  require_count(n_shifts, "shifts");
  const auto rows = static_cast<double>(n), columns = static_cast<double>(d),
             outputs = static_cast<double>(n_outputs);
  return BlockTriangle<double>::bytes(d) + 8 * columns * columns + 16 * rows * columns +
         8 * static_cast<double>(n_shifts) * ((outputs + 1) * rows + (2 * kBlock + outputs) * columns);
}

}  // namespace grls
