#include "least_squares/reduction.hpp"

#include <algorithm>

#include "base/blas.hpp"
#include "matrices/products.hpp"
#include "matrices/small_systems.hpp"
#include "matrices/symmetric.hpp"

namespace grls {
namespace {

constexpr Index kBlock = kBandBlock;
static_assert(kNarrowestBlock % kBlock == 0, "a panel must lie within one block column");
constexpr Index kStrip = 256;    // rows of Qᵀ a task takes
constexpr Index kSamples = 128;  // samples a task takes through all the shifts

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

}  // namespace

Reduction::Reduction(const Context& context, BlockTriangle<double>& A) : A_(A), n_(A.pivots()) {
  if (n_ > 0 && n_ <= kDiagonalised && blas::backend() == "library") {
    values_.resize(n_);
    vectors_ = symmetric_corner(A_, 0, n_);
    blas::syevd(n_, vectors_.data(), n_, values_.data());
    return;
  }
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

BlockTridiagonal Reduction::band() const {
  BlockTridiagonal B;
  B.n = n_;
  B.values = values_;
  if (B.is_diagonal()) return B;
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

Matrix<double> Reduction::transposed_times(Matrix<double> X) const {
  if (values_.size() > 0) {
    Matrix<double> out(n_, X.cols());
    blas::gemm(blas::Op::transpose, blas::Op::none, n_, X.cols(), n_, 1.0, vectors_.data(), n_, X.data(), n_,
               0.0, out.data(), n_);
    return out;
  }
  for (std::size_t p = 0; p < taus_.size(); ++p) {
    const Reflectors q = reflectors(p);
    auto rest = X.bottomRows(q.V.rows());
    rest -= product(q.V, transposed_product(q.F, transposed_product(q.V, rest)));
  }
  return X;
}

void Reduction::transposed(const Context& context, Eigen::Ref<Matrix<double>> G) const {
  if (values_.size() > 0) {
    G = vectors_.transpose();
    return;
  }
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

Reflectors Reduction::reflectors(std::size_t p) const {
  const Index c = static_cast<Index>(p) * kBlock;
  return compact(panel(c), n_ - c - kBlock, ld(c), taus_[p]);
}

BandFactor::BandFactor(const BlockTridiagonal& B, double shift) {
  Matrix<double> previous;  // L_j,j-1
  for (Index j = 0; j < B.blocks(); ++j) {
    Matrix<double> S = B.D[static_cast<std::size_t>(j)];
    S.diagonal().array() += shift;
    if (j > 0) {
      previous = product(B.E[static_cast<std::size_t>(j - 1)], inverse.back().transpose().eval());
      S -= product(previous, previous.transpose().eval());
    }
    const Matrix<double> inv = inverse_of_cholesky_factor(S);
    definite = inv.rows() == S.rows();
    if (!definite) return;
    carry.push_back(j > 0 ? product(inv, previous) : Matrix<double>());
    inverse.push_back(inv);
    log_determinant -= 2 * inv.diagonal().array().log().sum();
  }
}

Matrix<double> BandFactor::forward(const Matrix<double>& X) const {
  Matrix<double> W(X.rows(), X.cols());
  for (Index j = 0; j < blocks(); ++j) {
    const Matrix<double>& inv = inverse[static_cast<std::size_t>(j)];
    const Index at = BlockTridiagonal::start(j), size = inv.rows();
    W.middleRows(at, size) = product(inv, X.middleRows(at, size));
    if (j > 0)
      W.middleRows(at, size) -=
          product(carry[static_cast<std::size_t>(j)], W.middleRows(at - kBlock, kBlock));
  }
  return W;
}

Matrix<double> BandFactor::backward(const Matrix<double>& W) const {
  Matrix<double> Z(W.rows(), W.cols());
  Matrix<double> rest = W;
  for (Index j = blocks() - 1; j >= 0; --j) {
    const Matrix<double>& inv = inverse[static_cast<std::size_t>(j)];
    const Index at = BlockTridiagonal::start(j), size = inv.rows();
    Z.middleRows(at, size) = transposed_product(inv, rest.middleRows(at, size));
    // L_j,j-1ᵀ Z_j = carry_jᵀ L_jjᵀ Z_j = carry_jᵀ rest_j
    if (j > 0)
      rest.middleRows(at - kBlock, kBlock) -=
          transposed_product(carry[static_cast<std::size_t>(j)], rest.middleRows(at, size));
  }
  return Z;
}

// tr (LLᵀ)⁻¹ = Σ_j |L⁻¹ e|² over the columns of block j, by the recursion of the diagonal blocks of the
// inverse: S_jj = L_jj⁻ᵀ (I + L_j+1,jᵀ S_j+1,j+1 L_j+1,j) L_jj⁻¹
double BandFactor::trace() const {
  double sum = 0;
  Matrix<double> K;  // carry_j+1 L… folded: L_j+1,jᵀ S_j+1,j+1 L_j+1,j
  for (Index j = blocks() - 1; j >= 0; --j) {
    const Matrix<double>& inv = inverse[static_cast<std::size_t>(j)];
    Matrix<double> middle = Matrix<double>::Identity(inv.rows(), inv.rows());
    if (j + 1 < blocks()) middle += K;
    sum += product(middle, inv).cwiseProduct(inv).sum();
    // With S_jj = inv ᵀ middle inv and L_j,j-1 = L_jj carry_j: L_j,j-1ᵀ S_jj L_j,j-1 = carry_jᵀ middle
    // carry_j.
    if (j > 0)
      K = transposed_product(carry[static_cast<std::size_t>(j)],
                             product(middle, carry[static_cast<std::size_t>(j)]));
  }
  return sum;
}

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

}  // namespace grls
