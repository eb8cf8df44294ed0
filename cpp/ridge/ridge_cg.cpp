#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <variant>

#include "base/errors.hpp"
#include "base/vmath.hpp"
#include "ridge/ridge.hpp"

namespace grls {
namespace {

// Right-hand sides side by side: one row per unknown, so that a sparse product reads contiguous numbers.
using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using PerColumn = Eigen::ArrayXd;  // (q): one number per right-hand side

constexpr Index kRows = 1024;        // rows of a block that are worked on at once
constexpr Index kEntries = 1 << 14;  // entries of a sparse matrix that are worked on at once

double size_of(const Block& X) { return static_cast<double>(X.size()); }

// f(first, count) for pieces of `rows` rows, whose bounds do not depend on the threads.
void for_rows(const Context& context, Index rows, double work, const std::function<void(Index, Index)>& f) {
  parallel_for(context, (rows + kRows - 1) / kRows, workers_for(context, work),
               [&](Index t, const Worker&) { f(t * kRows, std::min(kRows, rows - t * kRows)); });
}

// Σ over all rows of f(first, count), a (r, q) array, added up in order.
Block sum_rows(const Context& context, Index rows, Index r, Index q, double work,
               const std::function<void(Index, Index, Block&)>& f) {
  std::vector<Block> parts(static_cast<std::size_t>((rows + kRows - 1) / kRows));
  for_rows(context, rows, work, [&](Index first, Index count) {
    Block part(r, q);
    f(first, count, part);
    parts[static_cast<std::size_t>(first / kRows)] = std::move(part);
  });
  Block sum = Block::Zero(r, q);
  for (const Block& part : parts) sum += part;
  return sum;
}

PerColumn dot(const Context& context, const Block& X, const Block& Y) {
  return sum_rows(
             context, X.rows(), 1, X.cols(), 2 * size_of(X),
             [&](Index first, Index count, Block& part) {
               part =
                   (X.middleRows(first, count).array() * Y.middleRows(first, count).array()).colwise().sum();
             })
      .row(0)
      .transpose();
}

// Y += a X
void add_scaled(const Context& context, double a, const Block& X, Block& Y) {
  for_rows(context, X.rows(), 2 * size_of(X),
           [&](Index first, Index count) { Y.middleRows(first, count) += a * X.middleRows(first, count); });
}

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
    const Index q = Z.cols(), columns = std::max<Index>(8, std::min(kRows, (d_ + 15) / 16));
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

struct System {
  std::function<void(const Block&, Block&)> apply;  // out = M X
  std::function<void(Block&)> precondition;         // in place, symmetric and positive definite
};

PerColumn ratio(const PerColumn& a, const PerColumn& b) {  // 0 / 0 = 0: a column that is solved
  return (b.abs() > 0).select(a / b, 0.0);
}

struct Iterated {
  Block X;
  int iterations = 0;
  PerColumn residuals;  // relative
};

// Conjugate gradients for all columns of B side by side; a column that is solved rests. The columns are of
// the order of one: see below.
Iterated iterate(const Context& context, const System& system, const Block& B, double tolerance,
                 int max_iterations) {
  const Index rows = B.rows(), q = B.cols();
  const PerColumn size = dot(context, B, B).sqrt();
  Iterated out;
  out.X = Block::Zero(rows, q);
  Block R = B, Z(rows, q), D(rows, q), MD(rows, q);
  PerColumn norm = size;
  while (true) {
    out.residuals = ratio(norm, size);
    if ((out.residuals <= tolerance).all() || out.iterations >= max_iterations) return out;
    // A start, or a fresh one from the residual itself where its recurrence had drifted away from it.
    const PerColumn before = norm;
    PerColumn active = (out.residuals > tolerance).cast<double>();
    Z = R;
    system.precondition(Z);
    D = Z * active.matrix().asDiagonal();
    PerColumn rz = dot(context, R, D);
    while (active.any() && out.iterations < max_iterations) {
      ++out.iterations;
      system.apply(D, MD);
      const PerColumn alpha = ratio(rz, dot(context, D, MD));
      norm = sum_rows(context, rows, 1, q, 6 * size_of(R),
                      [&](Index first, Index count, Block& part) {
                        auto r = R.middleRows(first, count);
                        out.X.middleRows(first, count).noalias() +=
                            D.middleRows(first, count) * alpha.matrix().asDiagonal();
                        r.noalias() -= MD.middleRows(first, count) * alpha.matrix().asDiagonal();
                        part = r.array().square().colwise().sum();
                        Z.middleRows(first, count) = r;
                      })
                 .row(0)
                 .transpose()
                 .array()
                 .sqrt();
      active = (norm > tolerance * size).cast<double>();
      system.precondition(Z);
      const PerColumn next = dot(context, R, Z);
      const PerColumn beta = ratio(next, rz);
      rz = next * active;
      for_rows(context, rows, 3 * size_of(D), [&](Index first, Index count) {
        auto d = D.middleRows(first, count);
        d = (d * (beta * active).matrix().asDiagonal() +
             Z.middleRows(first, count) * active.matrix().asDiagonal())
                .eval();
      });
    }
    system.apply(out.X, MD);
    R = B - MD;
    norm = dot(context, R, R).sqrt();
    if ((norm >= before).all()) {  // rounding errors allow no better
      out.residuals = ratio(norm, size);
      return out;
    }
  }
}

// The same for columns of any size, whose squares may be no numbers. The units are powers of two, so that
// they change no digit.
Iterated conjugate_gradients(const Context& context, const System& system, const Block& B, double tolerance,
                             int max_iterations) {
  const PerColumn unit = B.cwiseAbs().colwise().maxCoeff().transpose().array().unaryExpr([](double largest) {
    int exponent = 0;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0, std::max(exponent - 1, -1000));  // whose inverse is a number too
  });
  Iterated out =
      iterate(context, system, B * unit.inverse().matrix().asDiagonal(), tolerance, max_iterations);
  out.X *= unit.matrix().asDiagonal();
  return out;
}

// Columns a block is padded to: 1, 2, 4 or whole vectors of 8.
Index padded(Index k) {
  for (const Index width : {Index(1), Index(2), Index(4)})
    if (k <= width) return width;
  return (k + 7) / 8 * 8;
}

}  // namespace

RidgeSolution solve_ridge_cg(const Context& context, const RidgeProblem& problem, double shift,
                             double tolerance, int max_iterations) {
  require(shift > 0 && std::isfinite(shift), "conjugate gradients need a positive regularization");
  require(tolerance > 0, "the tolerance must be positive");
  require(max_iterations >= 1, "at least one iteration is needed");
  const FeatureSpan span(problem);
  const Projection projection(span.Q);
  const Design design(problem.rows, span.s);
  const Index k = problem.Y.cols(), q = padded(k), n = design.n(), d = design.d();

  Block given = Block::Zero(n, q);
  given.leftCols(k) = span.Y;
  Block Y = given;
  projection.apply(context, Y);

  const bool by_samples = n < d;
  Block across(by_samples ? d : n, q), B = Y;
  Vector<double> inverse;  // of the diagonal
  System system;
  if (by_samples) {
    inverse = (design.squared_rows(context).array() + shift).inverse();
    system.apply = [&](const Block& X, Block& out) {
      design.transposed_times(context, X, across);
      design.times(context, across, out);
      projection.apply(context, out);
      add_scaled(context, shift, X, out);
    };
  } else {
    Vector<double> diagonal = design.squared_columns();
    if (span.Q.cols() > 0) {  // |P a|² = |a|² - |Qᵀa|²
      Block inside(d, span.Q.cols());
      design.transposed_times(context, Block(span.Q), inside);
      diagonal = (diagonal - inside.rowwise().squaredNorm()).cwiseMax(0);
    }
    inverse = (diagonal.array() + shift).inverse();
    B.resize(d, q);
    design.transposed_times(context, Y, B);
    system.apply = [&](const Block& X, Block& out) {
      design.times(context, X, across);
      projection.apply(context, across);
      design.transposed_times(context, across, out);
      add_scaled(context, shift, X, out);
    };
  }
  system.precondition = [&](Block& Z) {
    for_rows(context, Z.rows(), size_of(Z), [&](Index first, Index count) {
      Z.middleRows(first, count).array().colwise() *= inverse.segment(first, count).array();
    });
    if (by_samples) projection.apply(context, Z);  // stay among the vectors that the features leave
  };

  Iterated solved = conjugate_gradients(context, system, B, tolerance, max_iterations);
  Block V(d, q), residual(n, q);
  if (by_samples) {
    design.transposed_times(context, solved.X, V);
  } else {
    V = std::move(solved.X);
  }
  RidgeSolution out;
  out.V = V.leftCols(k);
  out.kept = span.basis.kept;
  out.iterations = solved.iterations;
  out.residuals = solved.residuals.head(k).matrix();
  if (!(out.residuals.array() <= tolerance).all())
    out.status = out.iterations >= max_iterations ? Status::iteration_limit : Status::stagnated;
  design.times(context, V, residual);
  residual = given - residual;
  out.beta = span.basis.feature_coefficients(projection.onto_features(context, residual).leftCols(k));
  return out;
}

}  // namespace grls
