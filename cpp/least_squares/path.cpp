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

namespace {

Path empty_path(const Scale& scale, const IndexList& kept, const Vector<double>& shifts, bool relative,
                Index k) {
  require(shifts.size() > 0 && shifts.minCoeff() > 0, "the shifts of a path must be positive");
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const Index g = shifts.size();
  Path path;
  path.kept = kept;
  path.scale = scale;
  path.shifts = relative ? Vector<double>(shifts * scale.unit) : shifts;
  path.log_determinant.setConstant(g, unknown);
  path.trace.setConstant(g, unknown);
  path.quadratic.setConstant(g, k, unknown);
  path.squared_norm.setConstant(g, k, unknown);
  return path;
}

class ReducedKernelMatrix final : public ReducedMatrix {
 public:
  ReducedKernelMatrix(const Context& context, const Problem& problem, bool leave_one_out)
      : m_(problem.Y.rows()), k_(problem.Y.cols()), leave_one_out_(leave_one_out) {
    require(problem.formulation == Formulation::exact, "the regularization path needs formulation='exact'");
    const Assembled<double> assembled = assemble_problem<double>(context, problem);
    const Basis& basis = assembled.basis;
    BlockTriangle<double>& A = *assembled.A;
    const Index n = A.pivots();
    l_ = m_ - n;
    kept_ = basis.kept;
    scale_ = scale_of(A, m_);
    M22_ = symmetric_corner(A, n, m_);
    Y2_ = assembled.B.bottomRows(l_);
    rhs_.resize(n, k_ + l_);
    rhs_ << assembled.B.topRows(n), rows_of(A, n, m_, n).transpose();
    const Reduction reduction(context, A);
    band_ = reduction.band();
    rhs_ = reduction.transposed_times(rhs_);
    if (leave_one_out) set_samples(context, basis, reduction);
  }

  Path at(const Context& context, const Vector<double>& shifts, bool relative) const override {
    Path path = empty_path(scale_, kept_, shifts, relative, k_);
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    const Index g = path.shifts.size();
    path.schur.assign(static_cast<std::size_t>(g), Matrix<double>::Constant(l_, l_, unknown));
    path.r.assign(static_cast<std::size_t>(g), Matrix<double>::Constant(l_, k_, unknown));
    std::vector<BandFactor> factors;
    std::vector<Matrix<double>> Z(static_cast<std::size_t>(g));
    for (Index p = 0; p < g; ++p) {
      const auto at = static_cast<std::size_t>(p);
      if (!leave_one_out_) factors.clear();
      factors.emplace_back(band_, path.shifts[p]);
      const BandFactor& factor = factors.back();
      if (!factor.definite) continue;
      const Matrix<double> W = factor.forward(rhs_);
      Z[at] = factor.backward(W);
      path.log_determinant[p] = factor.log_determinant;
      path.trace[p] = factor.trace();
      path.quadratic.row(p) = W.leftCols(k_).colwise().squaredNorm();
      path.squared_norm.row(p) = Z[at].leftCols(k_).colwise().squaredNorm();
      path.schur[at] = M22_ - W.rightCols(l_).transpose() * W.rightCols(l_);
      path.schur[at].diagonal().array() += path.shifts[p];
      path.r[at] = Y2_ - W.rightCols(l_).transpose() * W.leftCols(k_);
      context.poll();
    }
    if (!leave_one_out_) return path;
    path.diagonal.assign(static_cast<std::size_t>(g), Vector<double>::Constant(m_, unknown));
    std::vector<Matrix<double>> products(static_cast<std::size_t>(g),
                                         Matrix<double>::Constant(m_, k_ + l_, unknown));
    per_sample(context, U_, factors, Z, path.diagonal, products);
    for (const Matrix<double>& product : products) {
      path.c.push_back(product.leftCols(k_));
      path.D.push_back(Q1_ - product.rightCols(l_));  // D = Q₁ - N (H + sI)⁻¹ M₁₂
    }
    return path;
  }

 private:
  // U = (NQ)ᵀ = [Qᵀ 0] - Qᵀ V_top Zᵀ
  void set_samples(const Context& context, const Basis& basis, const Reduction& reduction) {
    const Index n = m_ - l_;
    U_.resize(n, m_);
    reduction.transposed(context, U_.leftCols(n));
    U_.rightCols(l_).setZero();
    if (l_ > 0) {
      Matrix<double> GV(n, l_);
      blas::gemm(blas::Op::none, blas::Op::none, n, l_, n, 1.0, U_.data(), n, basis.V.data(), m_, 0.0,
                 GV.data(), n);
      blas::gemm(blas::Op::none, blas::Op::transpose, n, m_, l_, -1.0, GV.data(), n, basis.Z.data(), m_, 1.0,
                 U_.data(), n);
    }
    Matrix<double> last_columns = Matrix<double>::Zero(m_, l_);
    last_columns.bottomRows(l_).setIdentity();
    Q1_ = basis.times(last_columns);
  }

  Index m_, k_, l_ = 0;
  bool leave_one_out_;
  IndexList kept_;
  Scale scale_;
  BlockTridiagonal band_;
  Matrix<double> M22_, Y2_;  // (l, l) and (l, k) of MᵀΦM and MᵀY
  Matrix<double> rhs_;       // (n, k + l): QᵀNᵀY and QᵀM₁₂, whose solutions D and the Schur complement are of
  Matrix<double> U_, Q1_;    // (n, m) and (m, l), with leave_one_out
};

class ReducedColumns final : public ReducedMatrix {
 public:
  ReducedColumns(const Context& context, const RidgeProblem& problem) {
    const FeatureSpan span(problem);
    const ProjectedColumns projected(context, problem.rows, span);
    const Index m = problem.Y.rows(), d = projected.B.cols(), n = m - span.Q.cols();
    Y_ = span.Y - span.Q * (span.Q.transpose() * span.Y);
    taken_ = span.Q.rowwise().squaredNorm();
    missing_ = static_cast<double>(n - d);
    kept_ = span.basis.kept;

    BlockTriangle<double> A(d, d);
    const Formula linear = linear_formula();
    const Rows columns = projected.columns();
    fill_gram<double>(context, KernelTiles<double>(context, linear, columns), Vector<double>(), A);
    double trace = 0;
    for (Index c = 0; c < d; ++c) trace += *A.column(c, c);
    const double mean = trace / static_cast<double>(n);
    const double whole = trace + projected.inside.squaredNorm();
    scale_ = scale_of(mean, mean, whole / static_cast<double>(m), kColumnRounding * kColumnRounding,
                      kEpsilon * std::sqrt(trace * whole));
    const Reduction reduction(context, A);
    band_ = reduction.band();
    rhs_ = reduction.transposed_times(projected.transposed_times(Y_));
    Matrix<double> G(d, d);
    U_.resize(d, m);
    reduction.transposed(context, G);
    const double work = 2.0 * static_cast<double>(d) * static_cast<double>(d) * static_cast<double>(m);
    parallel_for(context, (m + kSamples - 1) / kSamples, workers_for(context, work),
                 [&](Index t, const Worker&) {
                   const Index first = t * kSamples, count = std::min(kSamples, m - first);
                   blas::gemm(blas::Op::none, blas::Op::transpose, d, count, d, 1.0, G.data(), d,
                              projected.B.data() + first, m, 0.0, U_.data() + first * d, d);
                 });
  }

  Path at(const Context& context, const Vector<double>& shifts, bool relative) const override {
    const Index m = Y_.rows(), k = Y_.cols();
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    Path path = empty_path(scale_, kept_, shifts, relative, k);
    const Index g = path.shifts.size();
    path.schur.assign(static_cast<std::size_t>(g), Matrix<double>(0, 0));
    path.r.assign(static_cast<std::size_t>(g), Matrix<double>(0, k));
    path.D.assign(static_cast<std::size_t>(g), Matrix<double>(m, 0));
    path.diagonal.assign(static_cast<std::size_t>(g), Vector<double>::Constant(m, unknown));
    path.c.assign(static_cast<std::size_t>(g), Matrix<double>::Constant(m, k, unknown));
    std::vector<BandFactor> factors;
    std::vector<Matrix<double>> V(static_cast<std::size_t>(g));  // the coefficients, in the basis of U
    for (Index p = 0; p < g; ++p) {
      factors.emplace_back(band_, path.shifts[p]);
      if (factors.back().definite)
        V[static_cast<std::size_t>(p)] = factors.back().backward(factors.back().forward(rhs_));
      context.poll();
    }
    per_sample(context, U_, factors, V, path.diagonal, path.c);
    // (BBᵀ + sI)⁻¹ = (I - B (BᵀB + sI)⁻¹ Bᵀ) / s on what the features leave
    for (Index p = 0; p < g; ++p) {
      const auto at = static_cast<std::size_t>(p);
      if (!factors[at].definite) continue;
      const double s = path.shifts[p];
      path.c[at] = (Y_ - path.c[at]) / s;
      path.diagonal[at] = (1 - taken_.array() - path.diagonal[at].array()) / s;
      path.log_determinant[p] = factors[at].log_determinant + missing_ * std::log(s);
      path.trace[p] = factors[at].trace() + missing_ / s;
      path.squared_norm.row(p) = path.c[at].colwise().squaredNorm();
      // yᵀc = s|c|² + |V|²: no cancellation
      path.quadratic.row(p) = s * path.squared_norm.row(p) + V[at].colwise().squaredNorm();
    }
    return path;
  }

 private:
  IndexList kept_;
  Scale scale_;
  BlockTridiagonal band_;
  Matrix<double> Y_, rhs_, U_;  // (m, k), QᵀBᵀY (d, k), and QᵀBᵀ (d, m): one column per sample
  Vector<double> taken_;        // (m): what the features take of each sample
  double missing_ = 0;          // eigenvalues 0 that BBᵀ has more than BᵀB
};

}  // namespace

std::unique_ptr<ReducedMatrix> reduce(const Context& context, const Problem& problem, bool leave_one_out) {
  return std::make_unique<ReducedKernelMatrix>(context, problem, leave_one_out);
}

std::unique_ptr<ReducedMatrix> reduce(const Context& context, const RidgeProblem& problem) {
  return std::make_unique<ReducedColumns>(context, problem);
}

Path regularization_path(const Context& context, const Problem& problem, const Vector<double>& shifts,
                         bool relative, bool leave_one_out) {
  require(shifts.size() > 0 && shifts.minCoeff() > 0, "the shifts of a path must be positive");
  return reduce(context, problem, leave_one_out)->at(context, shifts, relative);
}

Path ridge_path(const Context& context, const RidgeProblem& problem, const Vector<double>& shifts,
                bool relative) {
  require(shifts.size() > 0 && shifts.minCoeff() > 0, "the shifts of a path must be positive");
  return reduce(context, problem)->at(context, shifts, relative);
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
