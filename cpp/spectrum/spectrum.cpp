#include "spectrum/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/errors.hpp"
#include "matrices/products.hpp"

namespace grls {
namespace {

constexpr double kRounding = std::numeric_limits<double>::epsilon();

using Eigen::Ref;

// W -= V C
void subtract_product(const Ref<const Matrix<double>>& V, const Matrix<double>& C, Matrix<double>& W) {
  blas::gemm(blas::Op::none, blas::Op::none, V.rows(), C.cols(), V.cols(), -1.0, V.data(), V.outerStride(),
             C.data(), C.rows(), 1.0, W.data(), W.rows());
}

void remove_means(Matrix<double>& W) { W.rowwise() -= W.colwise().mean().eval(); }

// Uniform in [-1, 1), the same on every platform.
Matrix<double> random_block(Index m, Index width, std::mt19937_64& bits) {
  Matrix<double> out(m, width);
  for (Index q = 0; q < width; ++q)
    for (Index i = 0; i < m; ++i) out(i, q) = std::ldexp(static_cast<double>(bits() >> 11), -52) - 1.0;
  return out;
}

// The columns of W that are longer than `length`, each scaled to length one.
void normalise_columns(Matrix<double>& W, double length) {
  Index kept = 0;
  for (Index q = 0; q < W.cols(); ++q) {
    const double norm = W.col(q).norm();
    if (norm > length) W.col(kept++) = W.col(q) / norm;
  }
  W.conservativeResize(Eigen::NoChange, kept);
}

// An orthonormal basis of what W has outside the span of the orthonormal V and of the constants. Columns not
// longer than `negligible` count as nothing. Rotating W onto the eigenvectors of its Gram matrix separates
// long from short directions; each is then scaled by its own length, so that short ones lose digits but are
// not lost, and the next round restores their orthogonality.
Matrix<double> orthonormal_outside(const Ref<const Matrix<double>>& V, Matrix<double> W, double negligible) {
  for (int round = 0; round < 4; ++round) {
    remove_means(W);
    if (V.cols() > 0) subtract_product(V, transposed_product(V, W), W);
    normalise_columns(W, round == 0 ? negligible : 0.5);
    if (W.cols() == 0) return W;
    Matrix<double> gram = transposed_product(W, W);
    const double apart =
        (gram - Matrix<double>::Identity(W.cols(), W.cols())).cwiseAbs().maxCoeff() / kRounding;
    if (round > 0 && apart < 32.0 * static_cast<double>(W.cols())) break;
    Vector<double> squares(gram.rows());
    blas::syevd(gram.rows(), gram.data(), gram.rows(), squares.data());
    W = product(W, gram);
    normalise_columns(W, 16.0 * kRounding * static_cast<double>(W.cols()));
  }
  return W;
}

// A growing orthonormal basis V and H = VᵀK̃V, with K̃V = VH + (what `last` leads to outside V) [0 … 0 I].
class KrylovBasis {
 public:
  KrylovBasis(const Context& context, const BlockTriangle<double>& K, Index capacity)
      : context_(context), K_(K), V_(K.order(), capacity), H_(capacity, capacity) {}

  Index size() const { return size_; }
  Index room() const { return V_.cols() - size_; }
  Ref<const Matrix<double>> V() const { return V_.leftCols(size_); }

  // Appends an orthonormal block and multiplies it by K̃; returns what of the product lies outside V.
  Matrix<double> append(const Matrix<double>& block) {
    const Index b = block.cols();
    V_.middleCols(size_, b) = block;
    size_ += b;
    last_ = b;
    Matrix<double> W = symmetric_times(context_, K_, 0, K_.order(), block);
    const Matrix<double> C = transposed_product(V(), W);
    H_.block(0, size_ - b, size_, b) = C;
    H_.block(size_ - b, 0, b, size_ - b) = C.topRows(size_ - b).transpose();
    const Matrix<double> corner = C.bottomRows(b);
    H_.block(size_ - b, size_ - b, b, b) = 0.5 * (corner + corner.transpose());
    subtract_product(V(), C, W);
    return W;
  }

  // Ritz values, ascending, and their vectors in the basis.
  struct Ritz {
    Vector<double> values;
    Matrix<double> S;
  };
  Ritz ritz() const {
    Ritz out{Vector<double>(size_), H_.topLeftCorner(size_, size_)};
    blas::syevd(size_, out.S.data(), size_, out.values.data());
    return out;
  }

  // |K̃v - θv| of Ritz vector i, from the part W of the last product outside V.
  double residual(const Ritz& ritz, Index i, const Matrix<double>& gram_of_W) const {
    const Vector<double> s = ritz.S.col(i).tail(last_);
    return std::sqrt(std::max(0.0, s.dot(gram_of_W * s)));
  }

  // Keeps the `count` largest Ritz vectors only.
  void restart(const Ritz& ritz, Index count) {
    V_.leftCols(count) = product(V(), ritz.S.rightCols(count));
    H_.topLeftCorner(count, count) = ritz.values.tail(count).asDiagonal();
    size_ = count;
  }

 private:
  const Context& context_;
  const BlockTriangle<double>& K_;
  Matrix<double> V_, H_;
  Index size_ = 0, last_ = 0;
};

// Found by measurement: wider blocks need fewer products, narrower ones shorter sums.
Index block_width(Index k) { return k < 40 ? 16 : 64; }

}  // namespace

CentredGram centred_gram(const Context& context, const GramSource& source) {
  const Index m = samples_of(source);
  CentredGram out;
  out.K = std::make_unique<BlockTriangle<double>>(m, m);
  fill_gram(context, source, {}, Vector<double>(), *out.K);
  const double n = static_cast<double>(m);
  out.means = symmetric_times<double>(context, *out.K, 0, m, Matrix<double>::Constant(m, 1, 1.0 / n));
  const Matrix<double> constant = Matrix<double>::Constant(m, 1, 1.0 / std::sqrt(n));
  transform(context, *out.K, 0, m, constant, constant);
  for (Index i = 0; i < m; ++i) out.trace += *out.K->column(i, i);
  return out;
}

Matrix<double> lower_of(const Context& context, const BlockTriangle<double>& K) {
  const Index m = K.order();
  Matrix<double> out(m, m);
  const double work = 2.0 * static_cast<double>(m) * static_cast<double>(m);
  parallel_for(context, K.block_columns(), workers_for(context, work), [&](Index j, const Worker&) {
    for (Index q = 0; q < K.width(j); ++q) {
      const Index column = K.start(j) + q;
      out.col(column).head(column).setZero();
      std::copy_n(K.at(column, j) + q * K.ld(j), m - column, out.col(column).data() + column);
    }
  });
  return out;
}

TopSpectrum top_spectrum(const Context& context, const BlockTriangle<double>& K, Index k, double tolerance,
                         int max_products, std::uint64_t seed) {
  const Index m = K.order(), most = m - 1;  // the constants are in the null space and left out
  require(k >= 1 && k <= most, "cannot find ", k, " eigenvectors of a centred matrix of order ", m);
  require(tolerance >= 0, "the tolerance of eigenvalues must not be negative");
  require(max_products >= 1, "at least one product is needed to find eigenvalues");
  const Index b = std::min(block_width(k), most);
  const Index kept = std::min(k + b, most), capacity = std::min(kept + std::max(4 * b, k), most);
  const double rounding = kRounding * std::sqrt(static_cast<double>(m));
  constexpr Index kCheap = 160;  // below, the Ritz values cost little beside a product

  std::mt19937_64 bits(seed);
  KrylovBasis basis(context, K, capacity);
  Matrix<double> next = orthonormal_outside(basis.V(), random_block(m, b, bits), 0.0);
  TopSpectrum out;
  KrylovBasis::Ritz ritz;
  double largest = 0;  // of the eigenvalues, in size
  for (;;) {
    const Matrix<double> W = basis.append(next.leftCols(std::min(next.cols(), basis.room())));
    ++out.products;
    context.poll();
    const bool full = basis.room() < b, last = out.products >= max_products;
    if (full || last || basis.size() <= kCheap) {
      ritz = basis.ritz();
      const Index size = basis.size();
      largest = ritz.values.cwiseAbs().maxCoeff();
      out.smallest = std::min(out.smallest, ritz.values[0]);
      if (size >= k) {
        const Matrix<double> gram = transposed_product(W, W);
        Index good = 0;
        while (good < k &&
               basis.residual(ritz, size - 1 - good, gram) <=
                   std::max(tolerance * std::abs(ritz.values[size - 1 - good]), rounding * largest))
          ++good;
        if (good == k) out.status = Status::converged;
        if (good == k || last) break;
        if (size == most) {  // the whole space is searched
          out.status = Status::stagnated;
          break;
        }
      }
    }
    next = orthonormal_outside(basis.V(), W, rounding * largest);
    // An invariant subspace is exhausted: what is left of the space starts afresh.
    if (next.cols() == 0) next = orthonormal_outside(basis.V(), random_block(m, b, bits), 0.0);
    if (full && capacity < most) basis.restart(ritz, kept);
  }
  const Index found = std::min(k, basis.size());
  out.vectors = product(basis.V(), ritz.S.rightCols(found).rowwise().reverse());
  out.values = ritz.values.tail(found).reverse();
  const Matrix<double> image = symmetric_times(context, K, 0, m, out.vectors);
  out.residuals = (image - out.vectors * out.values.asDiagonal()).colwise().norm();
  return out;
}

}  // namespace grls
