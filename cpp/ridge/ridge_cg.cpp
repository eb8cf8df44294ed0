#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <variant>

#include "base/errors.hpp"
#include "base/vmath.hpp"
#include "matrices/conjugate_gradients.hpp"
#include "ridge/ridge.hpp"

namespace grls {
namespace {

using Block = RowBlock;

constexpr Index kEntries = 1 << 14;  // entries of a sparse matrix that are worked on at once

// Compressed sparse rows with narrow indices, each row scaled.
struct Csr {
  std::vector<double> values;
  std::vector<std::int32_t> columns;
  std::vector<Index> starts, pieces;  // pieces: rows of about kEntries entries each

  Index rows() const { return static_cast<Index>(starts.size()) - 1; }

  void cut() {
    pieces = {0};
    for (Index i = 0; i < rows(); ++i)
      if (starts[static_cast<std::size_t>(i + 1)] - starts[static_cast<std::size_t>(pieces.back())] >=
              kEntries ||
          i + 1 - pieces.back() >= kEntries || i + 1 == rows())
        pieces.push_back(i + 1);
  }

  void times(const Context& context, const Block& X, Block& out) const {
    const Index q = X.cols();
    const double work = 4.0 * static_cast<double>(values.size()) * static_cast<double>(q);
    parallel_for(context, static_cast<Index>(pieces.size()) - 1, workers_for(context, work),
                 [&](Index t, const Worker&) {
                   const auto at = static_cast<std::size_t>(t);
                   for (Index i = pieces[at]; i < pieces[at + 1]; ++i) {
                     const Index start = starts[static_cast<std::size_t>(i)];
                     vmath::sparse_times(values.data() + start, columns.data() + start,
                                         starts[static_cast<std::size_t>(i + 1)] - start, X.data(), q,
                                         out.data() + i * q);
                   }
                 });
  }
};

Csr scaled_rows(const CsrRows& rows, const Vector<double>& s) {
  Csr out;
  const auto entries = static_cast<std::size_t>(rows.starts[rows.n]);
  out.values.assign(rows.values, rows.values + entries);
  out.columns.assign(rows.columns, rows.columns + entries);
  out.starts.assign(rows.starts, rows.starts + rows.n + 1);
  if (s.size() > 0)
    for (Index i = 0; i < rows.n; ++i)
      for (Index e = rows.starts[i]; e < rows.starts[i + 1]; ++e)
        out.values[static_cast<std::size_t>(e)] *= s[i];
  out.cut();
  return out;
}

Csr transposed(const Csr& A, Index columns) {
  Csr out;
  out.values.resize(A.values.size());
  out.columns.resize(A.values.size());
  out.starts.assign(static_cast<std::size_t>(columns) + 1, 0);
  for (const std::int32_t j : A.columns) ++out.starts[static_cast<std::size_t>(j) + 1];
  for (std::size_t j = 0; j < static_cast<std::size_t>(columns); ++j) out.starts[j + 1] += out.starts[j];
  std::vector<Index> next(out.starts.begin(), out.starts.end() - 1);
  for (Index i = 0; i < A.rows(); ++i)
    for (Index e = A.starts[static_cast<std::size_t>(i)]; e < A.starts[static_cast<std::size_t>(i + 1)];
         ++e) {
      const auto from = static_cast<std::size_t>(e);
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(A.columns[from])]++);
      out.values[to] = A.values[from];
      out.columns[to] = static_cast<std::int32_t>(i);
    }
  out.cut();
  return out;
}

// S A and its transpose, applied to blocks.
class Design {
 public:
  Design(const Rows& rows, const Vector<double>& s) : n_(row_count(rows)), d_(column_count(rows)), s_(s) {
    constexpr Index kNarrow = std::numeric_limits<std::int32_t>::max();
    require(n_ < kNarrow && d_ < kNarrow, "conjugate gradients take fewer than 2^31 rows and columns");
    if (const auto* sparse = std::get_if<CsrRows>(&rows)) {
      by_row_ = scaled_rows(*sparse, s);
      by_column_ = transposed(by_row_, d_);
    } else {
      const auto* dense = std::get_if<DenseRows<double>>(&rows);
      require(dense != nullptr, "conjugate gradients take float64 or sparse rows");
      dense_ = dense->data;
    }
  }

  Index n() const { return n_; }
  Index d() const { return d_; }

  // out (n, q) = S A X
  void times(const Context& context, const Block& X, Block& out) const {
    if (!dense_) return by_row_.times(context, X, out);
    const Index q = X.cols();
    for_rows(context, n_, work(q), [&](Index first, Index count) {
      blas::gemm(blas::Op::none, blas::Op::none, q, count, d_, 1.0, X.data(), q, dense_ + first * d_, d_, 0.0,
                 out.data() + first * q, q);
      if (s_.size() > 0) out.middleRows(first, count).array().colwise() *= s_.segment(first, count).array();
    });
  }

  // out (d, q) = (S A)ᵀ Z
  void transposed_times(const Context& context, const Block& Z, Block& out) const {
    if (!dense_) return by_column_.times(context, Z, out);
    const Index q = Z.cols(), columns = std::max<Index>(8, std::min(kBlockRows, (d_ + 15) / 16));
    const Block scaled = s_.size() > 0 ? Block(s_.asDiagonal() * Z) : Block();
    const double* const z = s_.size() > 0 ? scaled.data() : Z.data();
    parallel_for(context, (d_ + columns - 1) / columns, workers_for(context, work(q)),
                 [&](Index t, const Worker&) {
                   const Index first = t * columns, count = std::min(columns, d_ - first);
                   blas::gemm(blas::Op::none, blas::Op::transpose, q, count, n_, 1.0, z, q, dense_ + first,
                              d_, 0.0, out.data() + first * q, q);
                 });
  }

  // Squared lengths of the rows or of the columns of S A.
  Vector<double> squared_rows(const Context& context) const {
    if (!dense_) return squared(by_row_);
    Vector<double> out(n_);
    for_rows(context, n_, work(1), [&](Index first, Index count) {
      for (Index i = first; i < first + count; ++i)
        out[i] = Eigen::Map<const Vector<double>>(dense_ + i * d_, d_).squaredNorm() *
                 (s_.size() > 0 ? s_[i] * s_[i] : 1.0);
    });
    return out;
  }
  Vector<double> squared_columns() const {
    if (!dense_) return squared(by_column_);
    Vector<double> out = Vector<double>::Zero(d_);
    for (Index i = 0; i < n_; ++i) {
      const double w = s_.size() > 0 ? s_[i] * s_[i] : 1.0;
      out.array() += w * Eigen::Map<const Vector<double>>(dense_ + i * d_, d_).array().square();
    }
    return out;
  }

 private:
  double work(Index q) const {
    return 2.0 * static_cast<double>(n_) * static_cast<double>(d_) * static_cast<double>(q);
  }
  static Vector<double> squared(const Csr& A) {
    Vector<double> out(A.rows());
    for (Index i = 0; i < A.rows(); ++i) {
      const Index start = A.starts[static_cast<std::size_t>(i)];
      out[i] = Eigen::Map<const Vector<double>>(A.values.data() + start,
                                                A.starts[static_cast<std::size_t>(i + 1)] - start)
                   .squaredNorm();
    }
    return out;
  }

  Index n_, d_;
  const Vector<double>& s_;
  const double* dense_ = nullptr;
  Csr by_row_, by_column_;
};

// What the features leave of a block of samples: Z - Q (QᵀZ), Q an orthonormal basis of their span.
class Projection {
 public:
  explicit Projection(const Matrix<double>& Q) : Q_(Q) {}

  Block onto_features(const Context& context, const Block& Z) const {  // QᵀZ
    return sum_rows(context, Z.rows(), Q_.cols(), Z.cols(), work(Z),
                    [&](Index first, Index count, Block& part) {
                      part.noalias() = Q_.middleRows(first, count).transpose() * Z.middleRows(first, count);
                    });
  }
  void apply(const Context& context, Block& Z) const {
    if (Q_.cols() == 0) return;
    const Block inside = onto_features(context, Z);
    for_rows(context, Z.rows(), work(Z), [&](Index first, Index count) {
      Z.middleRows(first, count).noalias() -= Q_.middleRows(first, count) * inside;
    });
  }

 private:
  double work(const Block& Z) const { return 2.0 * size_of(Z) * static_cast<double>(Q_.cols()); }
  const Matrix<double>& Q_;
};

// Columns a block is padded to: 1, 2, 4 or whole vectors of 8.
Index padded(Index k) {
  for (const Index width : {Index(1), Index(2), Index(4)})
    if (k <= width) return width;
  return (k + 7) / 8 * 8;
}

constexpr const char* kOverflow =
    "the squares of the data overflow, and with them the products of conjugate gradients: scale the columns "
    "of X down";

// (BBᵀ + shift) or (BᵀB + shift), whichever is of the smaller order, preconditioned by its diagonal.
class NormalEquations {
 public:
  NormalEquations(const Context& context, const Design& design, const FeatureSpan& span, double shift,
                  Index columns)
      : context_(context),
        design_(design),
        projection_(span.Q),
        shift_(shift),
        by_samples_(design.n() < design.d()),
        across_(by_samples_ ? design.d() : design.n(), columns) {
    Vector<double> diagonal = by_samples_ ? design.squared_rows(context) : design.squared_columns();
    require(diagonal.allFinite(), kOverflow);
    if (!by_samples_ && span.Q.cols() > 0) {  // |P a|² = |a|² - |Qᵀa|²
      Block inside(design.d(), span.Q.cols());
      design.transposed_times(context, Block(span.Q), inside);
      diagonal = (diagonal - inside.rowwise().squaredNorm()).cwiseMax(0);
    }
    inverse_ = (diagonal.array() + shift).inverse();
    require(inverse_.allFinite(), kOverflow);
  }

  LinearSystem<Block> system() {
    LinearSystem<Block> out;
    out.multiply = [this](const Block& X, Block& product) { multiply(X, product); };
    out.precondition = [this](Block& Z) { precondition(Z); };
    return out;
  }

  // From what the features leave of the targets, and from a solution to the coefficients of the columns.
  Block right_hand_side(Block Y) const {
    if (by_samples_) return Y;
    Block out(design_.d(), Y.cols());
    design_.transposed_times(context_, Y, out);
    return out;
  }
  Block coefficients(Block X) const {
    if (!by_samples_) return X;
    Block out(design_.d(), X.cols());
    design_.transposed_times(context_, X, out);
    return out;
  }

 private:
  void multiply(const Block& X, Block& out) {
    if (by_samples_) {
      design_.transposed_times(context_, X, across_);
      design_.times(context_, across_, out);
      projection_.apply(context_, out);
    } else {
      design_.times(context_, X, across_);
      projection_.apply(context_, across_);
      design_.transposed_times(context_, across_, out);
    }
    add_scaled(context_, shift_, X, out);
  }

  void precondition(Block& Z) const {
    for_rows(context_, Z.rows(), size_of(Z), [&](Index first, Index count) {
      Z.middleRows(first, count).array().colwise() *= inverse_.segment(first, count).array();
    });
    if (by_samples_) projection_.apply(context_, Z);  // stay among the vectors that the features leave
  }

  const Context& context_;
  const Design& design_;
  Projection projection_;
  double shift_;
  bool by_samples_;
  Block across_;
  Vector<double> inverse_;  // of the diagonal
};

}  // namespace

RidgeSolution solve_ridge_cg(const Context& context, const RidgeProblem& problem, double shift,
                             double tolerance, int max_iterations) {
  require(shift > 0 && std::isfinite(shift), "conjugate gradients need a positive regularization");
  const FeatureSpan span(context, problem);
  const Projection projection(span.Q);
  const Design design(problem.rows, span.s);
  const Index k = problem.Y.cols(), q = padded(k);
  Block given = Block::Zero(design.n(), q);
  given.leftCols(k) = span.Y;
  Block Y = given;
  projection.apply(context, Y);

  NormalEquations equations(context, design, span, shift, q);
  const Block B = equations.right_hand_side(std::move(Y));
  require(B.allFinite(), kOverflow);
  Gradients<Block> solved = conjugate_gradients(context, equations.system(), B, {tolerance, max_iterations});
  const Block V = equations.coefficients(std::move(solved.X));
  RidgeSolution out;
  out.V = V.leftCols(k);
  out.kept = span.basis.kept;
  out.iterations = solved.iterations;
  out.residuals = solved.residuals.head(k);
  out.status = solved.status;
  Block residual(design.n(), q);
  design.times(context, V, residual);
  residual = given - residual;
  out.beta =
      span.basis.feature_coefficients(projection.onto_features(context, residual).leftCols(k), &context);
  return out;
}

}  // namespace grls
