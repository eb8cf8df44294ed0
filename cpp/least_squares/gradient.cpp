#include "least_squares/gradient.hpp"

#include <algorithm>
#include <cmath>

#include "base/errors.hpp"
#include "base/vmath.hpp"
#include "kernels/reverse.hpp"
#include "least_squares/inverse.hpp"
#include "matrices/factor.hpp"

namespace grls {
namespace {

constexpr Index kRows = 512;  // of a piece: its columns stay in the first-level cache through all steps

// The columns a group reads, (m, columns), in the order of the basis.
Matrix<double> columns_of(const Rows& rows, const ColumnGroup& group, const IndexList& order) {
  const Index m = row_count(rows), d = column_count(rows), read = group.columns_read(d);
  Matrix<double> out = Matrix<double>::Zero(m, read);
  IndexList place(static_cast<std::size_t>(d), group.columns.empty() ? 0 : -1);
  for (Index c = 0; c < read; ++c)
    place[static_cast<std::size_t>(group.columns.empty() ? c : group.columns[static_cast<std::size_t>(c)])] =
        c;
  for (Index i = 0; i < m; ++i) {
    const Index from = order.empty() ? i : order[static_cast<std::size_t>(i)];
    std::visit(
        [&](const auto& r) {
          if constexpr (std::is_same_v<std::decay_t<decltype(r)>, CsrRows>) {
            for (std::int64_t e = r.starts[from]; e < r.starts[from + 1]; ++e)
              if (const Index c = place[static_cast<std::size_t>(r.columns[e])]; c >= 0)
                out(i, c) = r.values[e];
          } else {
            for (Index q = 0; q < d; ++q)
              if (const Index c = place[static_cast<std::size_t>(q)]; c >= 0)
                out(i, c) = static_cast<double>(r.data[from * d + q]);
          }
        },
        rows);
  }
  return out;
}

// A group whose widths, periods or map are wanted: P holds its points as the distances see them, with
// r² = Σ_c (P_ic - P_jc)², and Q is the derivative of P by the periods. Of a map each column of P stands
// there once for each of its coefficients, and Q holds what that multiplies.
struct TunedGroup {
  Index group;
  Matrix<double> P, Q;    // (m, D)
  bool absolute, labels;  // what terms read are sums of |P_ic - P_jc|, or of [P_ic ≠ P_jc]

  TunedGroup(const Rows& rows, const ColumnGroup& columns, const IndexList& order, Index which)
      : group(which), absolute(columns.manhattan), labels(columns.mismatches) {
    const Matrix<double> X = columns_of(rows, columns, order);
    const Index m = X.rows(), read = X.cols();
    const auto width = [&](Index c) {
      return columns.widths.empty() ? 1.0 : columns.widths[static_cast<std::size_t>(c)];
    };
    if (labels) {
      P = X;
      return;
    }
    if (!columns.map.empty()) {
      const Matrix<double> centred = X.rowwise() - X.colwise().mean();
      P = Matrix<double>::Zero(m, read * read);
      Q.resize(m, read * read);
      for (Index k = 0; k < read; ++k)
        for (Index c = 0; c < read; ++c) {
          Q.col(k * read + c) = centred.col(c);
          const double a = columns.map[static_cast<std::size_t>(k * read + c)];
          for (Index other = 0; other < read; ++other) P.col(k * read + other) += a * centred.col(c);
        }
      return;
    }
    if (columns.periods.empty()) {
      P = X.rowwise() - X.colwise().mean();
      for (Index c = 0; c < read; ++c) P.col(c) /= width(c);
      return;
    }
    P.resize(m, 2 * read);
    Q.resize(m, 2 * read);
    for (Index c = 0; c < read; ++c) {
      const double period = columns.periods[static_cast<std::size_t>(c)];
      for (Index i = 0; i < m; ++i) {
        const double angle = 2 * EIGEN_PI * X(i, c) / period, turn = -angle / period;
        P(i, 2 * c) = std::cos(angle) / width(c);
        P(i, 2 * c + 1) = std::sin(angle) / width(c);
        Q(i, 2 * c) = -std::sin(angle) * turn / width(c);
        Q(i, 2 * c + 1) = std::cos(angle) * turn / width(c);
      }
    }
  }

  bool wound() const { return Q.cols() > 0; }
  Index size() const { return wound() ? 2 * P.cols() : P.cols(); }

  // Adds Σ_ij W_ij (P_ic - P_jc)(R_ic - R_jc) over a piece of W (ni, nj) for R = P, and where there is one
  // for R = Q, to `out` (size()); of absolute differences and labels Σ_ij W_ij times these.
  void add_moments(const Matrix<double>& W, Index i0, Index j0, double* out) const {
    if (absolute || labels) {
      for (Index c = 0; c < P.cols(); ++c) {
        const auto Pi = P.col(c).segment(i0, W.rows()).array();
        for (Index j = 0; j < W.cols(); ++j)
          out[c] += labels ? (Pi != P(j0 + j, c)).select(W.col(j).array(), 0.0).sum()
                           : (W.col(j).array() * (Pi - P(j0 + j, c)).abs()).sum();
      }
      return;
    }
    const Vector<double> by_row = W.rowwise().sum(), by_column = W.colwise().sum().transpose();
    const auto times = [&](const Matrix<double>& R) {
      Matrix<double> product(W.rows(), R.cols());
      blas::gemm(blas::Op::none, blas::Op::none, W.rows(), R.cols(), W.cols(), 1.0, W.data(), W.rows(),
                 R.data() + j0, R.rows(), 0.0, product.data(), W.rows());
      return product;
    };
    const auto add = [&](const Matrix<double>& R, const Matrix<double>& WP, const Matrix<double>& WR,
                         double* to) {
      const auto Pi = P.middleRows(i0, W.rows()), Ri = R.middleRows(i0, W.rows());
      const auto Pj = P.middleRows(j0, W.cols()), Rj = R.middleRows(j0, W.cols());
      for (Index c = 0; c < P.cols(); ++c)
        to[c] += (by_row.array() * Pi.col(c).array() * Ri.col(c).array()).sum() +
                 (by_column.array() * Pj.col(c).array() * Rj.col(c).array()).sum() -
                 Ri.col(c).dot(WP.col(c)) - Pi.col(c).dot(WR.col(c));
    };
    const Matrix<double> WP = times(P);
    add(P, WP, WP, out);
    if (wound()) add(Q, WP, times(Q), out + P.cols());
  }
};

// Sums up G with the derivatives of the kernel by its parameters.
class Contraction {
 public:
  Contraction(const Formula& formula, const KernelTiles<double>& kernel, std::vector<TunedGroup> tuned)
      : formula_(formula), kernel_(kernel), tuned_(std::move(tuned)), reverse_(formula) {
    size_ = 2 * formula.steps().size();
    for (const Step& step : formula.steps()) {
      series_at_.push_back(size_);
      size_ += step.coefficients.size();
    }
    for (const TunedGroup& group : tuned_) {
      group_at_.push_back(size_);
      size_ += static_cast<std::size_t>(group.size());
    }
  }

  // The contribution of one tile; results of different tiles add up.
  struct Part {
    std::vector<double> sums;
    // For each step that reads the diagonal: its shares, summed along the rows and the columns of the tile.
    std::vector<Vector<double>> rows, columns;
  };

  struct Scratch {
    KernelTiles<double>::Scratch kernel;
    Reverse::Scratch steps;
    std::vector<double> slope;
    std::vector<Matrix<double>> W;
  };

  // G (ni, nj) at (i0, j0), each element with the weight it has in the sum.
  void add(Index i0, Index j0, const Matrix<double>& G, Index row_of_part, Part& part, Scratch& scratch,
           const Checkpoint& checkpoint) const {
    const Index ni = G.rows(), nj = G.cols();
    const auto read = kernel_.quantities(i0, ni, j0, nj, scratch.kernel, checkpoint);
    scratch.W.assign(tuned_.size(), Matrix<double>::Zero(ni, nj));
    reserve(ni, scratch);
    const std::vector<Step>& steps = formula_.steps();
    for (Index j = 0; j < nj; ++j) {
      const auto quantity_of = [&](const Step& step) {
        return read.of(step.group, quantity(step.term)) + j * ni;
      };
      reverse_.forward(0, steps.size(), ni, quantity_of, scratch.steps, [&](std::size_t s, double* x) {
        apply_on_diagonal(steps[s], x, kernel_.row_roots(s) + i0, kernel_.column_roots(s)[j0 + j], ni);
      });
      std::copy_n(G.data() + j * ni, ni,
                  scratch.steps.weights.data() + (steps.size() - 1) * static_cast<std::size_t>(ni));
      backward(
          0, steps.size(), ni, quantity_of, scratch, part.sums,
          [&](Index group) -> double* {
            for (std::size_t t = 0; t < tuned_.size(); ++t)
              if (tuned_[t].group == group) return scratch.W[t].data() + j * ni;
            return nullptr;
          },
          [&](std::size_t s, const double* k, const double* value, const double* weight, double* back) {
            Vector<double> share(ni);
            const std::size_t place = reverse_.normalizer(s);
            differentiate_on_diagonal(steps[s], k, value, kernel_.row_roots(s) + i0,
                                      kernel_.column_roots(s)[j0 + j], weight, ni, back, share.data());
            part.rows[place].segment(row_of_part, ni) += share;
            part.columns[place][j] += share.sum();
          });
    }
    for (std::size_t t = 0; t < tuned_.size(); ++t)
      tuned_[t].add_moments(scratch.W[t], i0, j0, part.sums.data() + group_at_[t]);
  }

  Part part(Index rows, Index columns) const {
    Part out;
    out.sums.assign(size_, 0.0);
    out.rows.assign(reverse_.normalizers().size(), Vector<double>::Zero(rows));
    out.columns.assign(reverse_.normalizers().size(), Vector<double>::Zero(columns));
    return out;
  }

  std::size_t normalizers() const { return reverse_.normalizers().size(); }

  // What a step that reads the diagonal passes on through k(x, x): `share` (m) are its shares at each point.
  void add_diagonal(std::size_t which, const Vector<double>& share, std::vector<double>& sums) const {
    const std::size_t s = reverse_.normalizers()[which];
    const Index m = share.size(), child = reverse_.children(s).first;
    const auto from =
        static_cast<std::size_t>(reverse_.children(static_cast<std::size_t>(child)).first_of_all);
    Scratch scratch;
    reserve(m, scratch);
    std::vector<double> quantities(static_cast<std::size_t>(m));
    const auto quantity_of = [&](const Step& step) -> const double* {
      std::fill(quantities.begin(), quantities.end(), 0.0);
      if (quantity(step.term) == Quantity::products)
        kernel_.self_products(static_cast<std::size_t>(step.group), quantities.data());
      return quantities.data();
    };
    reverse_.forward(from, s, m, quantity_of, scratch.steps, [&](std::size_t inner, double* x) {
      for (Index i = 0; i < m; ++i) x[i] = on_own_diagonal(formula_.steps()[inner], x[i]);
    });
    // Half of the share of each side, with the sign turned, over k_ii.
    const double* const roots = kernel_.column_roots(s);
    double* const weight = scratch.steps.weights.data() + child * m;
    for (Index i = 0; i < m; ++i) weight[i] = -0.5 * share[i] * roots[i] * roots[i];
    backward(
        from, s, m, quantity_of, scratch, sums, [](Index) -> double* { return nullptr; },
        [&](std::size_t inner, const double* k, const double*, const double* w, double* back) {
          for (Index i = 0; i < m; ++i) back[i] = w[i] * slope_on_own_diagonal(formula_.steps()[inner], k[i]);
        });
  }

  void unpack(const std::vector<double>& sums, Gradient& out) const {
    const std::vector<Step>& steps = formula_.steps();
    const auto n_steps = static_cast<Index>(steps.size());
    out.a = Eigen::Map<const Vector<double>>(sums.data(), n_steps);
    out.b = Eigen::Map<const Vector<double>>(sums.data() + n_steps, n_steps);
    for (std::size_t s = 0; s < steps.size(); ++s)
      out.coefficients.emplace_back(sums.data() + series_at_[s],
                                    sums.data() + series_at_[s] + steps[s].coefficients.size());
    out.widths.resize(formula_.groups().size());
    out.periods.resize(formula_.groups().size());
    out.maps.resize(formula_.groups().size());
    for (std::size_t t = 0; t < tuned_.size(); ++t) {
      const TunedGroup& tuned = tuned_[t];
      const auto g = static_cast<std::size_t>(tuned.group);
      const ColumnGroup& group = formula_.groups()[g];
      const double* const moments = sums.data() + group_at_[t];
      const Index D = tuned.P.cols();
      const auto fold = [&](Index c, Index offset) {  // a wound column is two
        return tuned.wound() ? moments[offset + 2 * c] + moments[offset + 2 * c + 1] : moments[offset + c];
      };
      for (std::size_t c = 0; c < group.map.size(); ++c)
        out.maps[g].push_back(2 * moments[D + static_cast<Index>(c)]);
      // ∂r²/∂width = -2 / width · (P_i - P_j)², of absolute values half of it; labels have no width in P
      for (std::size_t c = 0; c < group.widths.size(); ++c) {
        const double w = group.widths[c], by = tuned.labels ? -1 / (w * w) : (tuned.absolute ? -1 : -2) / w;
        out.widths[g].push_back(by * fold(static_cast<Index>(c), 0));
      }
      for (std::size_t c = 0; c < group.periods.size(); ++c)
        out.periods[g].push_back(2 * fold(static_cast<Index>(c), D));
    }
  }

 private:
  void reserve(Index n, Scratch& scratch) const {
    reverse_.reserve(n, scratch.steps);
    if (static_cast<Index>(scratch.slope.size()) < n) scratch.slope.resize(static_cast<std::size_t>(n));
  }

  // From the weights of the last step to those of the others and the derivatives of the parameters.
  template <class QuantityOf, class SlopeOf, class Normalize>
  void backward(std::size_t from, std::size_t to, Index n, const QuantityOf& quantity_of, Scratch& scratch,
                std::vector<double>& sums, const SlopeOf& slope_of, const Normalize& normalize) const {
    const std::vector<Step>& steps = formula_.steps();
    const auto term = [&](std::size_t s, const double* value, const double* weight) {
      const bool reads = quantity(steps[s].term) != Quantity::none;
      double* const into = reads ? slope_of(steps[s].group) : nullptr;
      if (into) std::fill_n(scratch.slope.data(), n, 0.0);
      const TermGradient gradient = differentiate_term(steps[s], reads ? quantity_of(steps[s]) : value, value,
                                                       weight, n, into ? scratch.slope.data() : nullptr);
      sums[s] += gradient.a;
      sums[steps.size() + s] += gradient.b;
      if (into) vmath::add(into, scratch.slope.data(), n);
    };
    const auto combine = [&](std::size_t s, const double* x, const double* value, const double* weight,
                             double* back) {
      sums[s] += differentiate_combination(steps[s], x, value, weight, n, back, sums.data() + series_at_[s]);
    };
    reverse_.backward(from, to, n, scratch.steps, term, combine, normalize);
  }

  const Formula& formula_;
  const KernelTiles<double>& kernel_;
  std::vector<TunedGroup> tuned_;
  Reverse reverse_;
  std::vector<std::size_t> series_at_, group_at_;
  std::size_t size_ = 0;
};

// A = left rightᵀ + keep A over the samples, left and right (m, r)
void update(const Context& context, const Matrix<double>& left, const Matrix<double>& right, double keep,
            BlockTriangle<double>& A) {
  const Index m = left.rows(), r = left.cols();
  for_tiles(context, A, 0, m, 2.0 * static_cast<double>(r), [&](const auto& t, const Worker&) {
    blas::gemm(blas::Op::none, blas::Op::transpose, t.last - t.first, t.columns, r, 1.0,
               left.data() + t.first, m, right.data() + t.column, m, keep, A.at(t), A.ld(t.j));
  });
}

// The columns of the symmetric matrix in A, each times a number.
Matrix<double> scaled_columns(const Context& context, BlockTriangle<double>& A, const Vector<double>& by) {
  const Index m = by.size();
  Matrix<double> out(m, m);
  for_tiles(context, A, 0, m, 4.0, [&](const auto& t, const Worker&) {
    for (Index q = 0; q < t.columns; ++q) {
      const Index column = t.column + q;
      const double* const from = A.at(t) + q * A.ld(t.j);
      for (Index i = std::max(t.first, column); i < t.last; ++i) {
        out(i, column) = from[i - t.first] * by[column];
        out(column, i) = from[i - t.first] * by[i];
      }
    }
  });
  return out;
}

// Where each sample is in the order of the basis.
IndexList positions(const Basis& basis, Index m) {
  IndexList out(static_cast<std::size_t>(m));
  for (Index i = 0; i < m; ++i)
    out[static_cast<std::size_t>(basis.order.empty() ? i : basis.order[static_cast<std::size_t>(i)])] = i;
  return out;
}

// Of the symmetric matrix in A, its border included.
double element(const BlockTriangle<double>& A, Index i, Index j) {
  const Index row = std::max(i, j), column = std::min(i, j), last = A.block_columns() - 1;
  if (column < A.pivots()) return *A.column(row, column);
  return A.at(row, last)[(column - A.start(last)) * A.ld(last)];
}

// The rows in the order of the basis; those of the samples themselves where none were given.
RepeatedRows rows_in_order(const RepeatedRows& given, const Basis& basis, const Vector<double>& root,
                           Index k) {
  const Index m = root.size();
  const IndexList position = positions(basis, m);
  if (given.point.empty()) {
    RepeatedRows out{{}, root.cwiseAbs2(), Vector<double>::Ones(m), Matrix<double>::Zero(m, k)};
    for (Index i = 0; i < m; ++i) out.point.push_back(i);
    return out;
  }
  const auto rows = static_cast<Index>(given.point.size());
  require(given.weights.size() == rows && given.counts.size() == rows && given.deviations.rows() == rows &&
              given.deviations.cols() == k,
          "repeated rows: ", rows, " points, ", given.weights.size(), " weights, ", given.counts.size(),
          " counts and deviations of shape (", given.deviations.rows(), ", ", given.deviations.cols(),
          "), expected ", k, " columns");
  require(given.weights.minCoeff() > 0 && given.counts.minCoeff() > 0,
          "repeated rows: weights and counts must be positive");
  RepeatedRows out = given;
  for (Index& point : out.point) {
    require(point >= 0 && point < m, "repeated rows: there is no sample ", point);
    point = position[static_cast<std::size_t>(point)];
  }
  return out;
}

// A criterion and what it shows of s beside B and c.
struct Value {
  double value = 0, shift = 0;
};

// The value, and G in place of B.
Value differentiate_likelihood(const Context& context, const RepeatedRows& rows, double log_determinant,
                               Index n, double s, const Matrix<double>& Y, BlockTriangle<double>& A) {
  const Index m = Y.rows();
  const auto outputs = static_cast<double>(Y.cols());
  const Matrix<double> c = symmetric_times(context, A, 0, m, Y);
  const double repeats = rows.counts.sum() - static_cast<double>(m), free = static_cast<double>(n) + repeats;
  require(free > 0, "the restricted likelihood needs more rows than features");
  const Vector<double> within = (rows.weights.asDiagonal() * rows.deviations.cwiseAbs2()).colwise().sum();
  const Vector<double> q = (Y.array() * c.array()).colwise().sum().transpose() + within.array() / s;
  update(context, c * (-free / outputs * q.array().inverse()).matrix().asDiagonal(), c, 1.0, A);
  return {log_determinant + repeats * std::log(s) + free * (q.array() / free).log().mean(),
          repeats / s - free * (within.array() / q.array()).mean() / (s * s)};
}

// The same of the leave-one-out error.
Value differentiate_leave_one_out(const Context& context, const RepeatedRows& rows, double s,
                                  const Vector<double>& root, const Matrix<double>& Y,
                                  BlockTriangle<double>& A) {
  const Index m = Y.rows(), k = Y.cols();
  const Matrix<double> c = symmetric_times(context, A, 0, m, Y);
  const Vector<double> b = diagonal_of(A, m);
  const double scale = 1 / (static_cast<double>(k) * rows.weights.sum());
  Value out;
  Matrix<double> g = Matrix<double>::Zero(m, k);
  Vector<double> h = Vector<double>::Zero(m);
  for (Index i = 0; i < rows.weights.size(); ++i) {
    const Index j = rows.point[static_cast<std::size_t>(i)];
    const double w = rows.weights[i], v = w / (root[j] * root[j]) * std::min(1.0, 1 / rows.counts[i]);
    // A row of its own has no share of the others: exactly, whatever the rounding errors of its weight.
    const double others = v > 1 - 1e-14 ? 0 : 1 - v, d = others + (1 - others) * s * b[j];
    for (Index p = 0; p < k; ++p) {
      const double from_fit = c(j, p) / root[j];
      const double e = (rows.deviations(i, p) + s * from_fit) / d;
      out.value += scale * w * e * e;
      const double slope = 2 * scale * w * e / d;
      out.shift += slope * (from_fit - e * (1 - others) * b[j]);
      g(j, p) += slope * s / root[j];
      h[j] += slope * e * (1 - others) * s;
    }
  }
  const Matrix<double> u = symmetric_times(context, A, 0, m, g);
  {
    const Matrix<double> D = scaled_columns(context, A, h.cwiseSqrt());
    update(context, D, D, 0.0, A);
  }
  Matrix<double> left(m, 2 * k), right(m, 2 * k);
  left << -0.5 * u, -0.5 * c;
  right << c, u;
  update(context, left, right, 1.0, A);
  return out;
}

// The groups in the order of the basis.
Groups groups_in_order(Groups groups, const Basis& basis, Index m) {
  groups.check(m);
  std::vector<bool> seen(static_cast<std::size_t>(m), false);
  for (const Index row : groups.rows) {
    require(!seen[static_cast<std::size_t>(row)], "groups: sample ", row, " is in two of them");
    seen[static_cast<std::size_t>(row)] = true;
  }
  require(static_cast<Index>(groups.rows.size()) == m, "groups: ", groups.rows.size(), " of ", m,
          " samples are in one");
  const IndexList position = positions(basis, m);
  for (Index& row : groups.rows) row = position[static_cast<std::size_t>(row)];
  return groups;
}

// The same of the error of groups left out.
Value differentiate_groups(const Context& context, const RepeatedRows& rows, const Groups& groups,
                           const Matrix<double>& Y, BlockTriangle<double>& A) {
  const Index m = Y.rows(), k = Y.cols(), columns = groups.count() * k;
  const Matrix<double> c = symmetric_times(context, A, 0, m, Y);
  const double scale = 1 / (static_cast<double>(k) * rows.weights.sum());
  Value out;
  out.value = scale * (rows.weights.asDiagonal() * rows.deviations.cwiseAbs2()).sum();
  Matrix<double> E = Matrix<double>::Zero(m, columns), U = Matrix<double>::Zero(m, columns);
  for (Index g = 0; g < groups.count(); ++g) {
    const Index size = groups.size(g);
    if (size == 0) continue;
    const auto row = [&](Index i) { return groups.rows[static_cast<std::size_t>(groups.start(g) + i)]; };
    Matrix<double> B(size, size), X(size, k);
    for (Index j = 0; j < size; ++j) {
      for (Index i = j; i < size; ++i) B(i, j) = element(A, row(i), row(j));
      X.row(j) = c.row(row(j));
    }
    if (!blas::potrf_lower(size, B.data(), size))
      throw NotPositiveDefinite("the features are dependent without a group of samples");
    const auto solve = [&] {
      blas::trsm_left_lower(blas::Op::none, size, k, B.data(), size, X.data(), size);
      blas::trsm_left_lower(blas::Op::transpose, size, k, B.data(), size, X.data(), size);
    };
    solve();
    out.value += scale * X.squaredNorm();
    for (Index i = 0; i < size; ++i) E.block(row(i), g * k, 1, k) = X.row(i);
    solve();
    for (Index i = 0; i < size; ++i) U.block(row(i), g * k, 1, k) = 2 * scale * X.row(i);
    context.poll();
  }
  Matrix<double> left(m, 2 * columns + 2 * k), right(m, 2 * columns + 2 * k);
  right.leftCols(columns) = symmetric_times(context, A, 0, m, E);
  right.middleCols(columns, columns) = symmetric_times(context, A, 0, m, U);
  Matrix<double> u = Matrix<double>::Zero(m, k);
  for (Index g = 0; g < groups.count(); ++g) u += right.middleCols(columns + g * k, k);
  left.leftCols(columns) = 0.5 * right.middleCols(columns, columns);
  left.middleCols(columns, columns) = 0.5 * right.leftCols(columns);
  left.rightCols(2 * k) << -0.5 * u, -0.5 * c;
  right.rightCols(2 * k) << c, u;
  update(context, left, right, 0.0, A);
  return out;
}

}  // namespace

Gradient criterion_gradient(const Context& context, const Problem& problem, Criterion criterion,
                            const IndexList& groups, const RepeatedRows& repeated, const Groups& left_out) {
  require(problem.formulation == Formulation::exact, "gradients need formulation='exact'");
  require(problem.Y.cols() > 0, "a criterion needs at least one column of targets");
  const auto* const source = std::get_if<KernelOfRows>(&problem.gram);
  require(source != nullptr, "a matrix given as a whole has no parameters");
  const Formula& formula = source->formula;
  for (const Index g : groups)
    require(g >= 0 && g < static_cast<Index>(formula.groups().size()), "there is no column group ", g);

  const Assembled<double> assembled = assemble_problem<double>(context, problem);
  const Basis& basis = assembled.basis;
  BlockTriangle<double>& A = *assembled.A;
  const Index m = problem.Y.rows(), n = A.pivots();
  const bool weighted = assembled.s.size() > 0;
  const Vector<double> s = weighted ? Vector<double>(basis.ordered(assembled.s)) : Vector<double>::Ones(m);
  const Matrix<double> Y = s.asDiagonal() * basis.ordered(problem.Y);

  Gradient out;
  out.scale = scale_of(A, m);
  shift_diagonal(problem.shift, n, A);
  set_border(Matrix<double>::Zero(m, problem.Y.cols()), A);
  partial_llt(context, A);
  double log_determinant = 0;
  for (Index i = 0; i < n; ++i) log_determinant += 2 * std::log(*A.column(i, i));
  inverse_in_samples(context, basis, m, A);
  require(problem.shift > 0, "a gradient needs a positive regularization");
  const RepeatedRows all_rows = rows_in_order(repeated, basis, s, Y.cols());
  const Value value = [&] {
    switch (criterion) {
      case Criterion::restricted_likelihood:
        return differentiate_likelihood(context, all_rows, log_determinant, n, problem.shift, Y, A);
      case Criterion::leave_one_out:
        return differentiate_leave_one_out(context, all_rows, problem.shift, s, Y, A);
      case Criterion::leave_groups_out:
        return differentiate_groups(context, all_rows, groups_in_order(left_out, basis, m), Y, A);
    }
    throw InvalidArgument("there is no such criterion");
  }();
  out.value = value.value;
  out.shift = value.shift + diagonal_of(A, m).sum();

  const KernelTiles<double> kernel(context, formula, source->rows, basis.order);
  std::vector<TunedGroup> tuned;
  for (const Index g : groups)
    tuned.emplace_back(source->rows, formula.groups()[static_cast<std::size_t>(g)], basis.order, g);
  const Contraction contraction(formula, kernel, std::move(tuned));
  const auto tiles = A.tiles(0, m);
  std::vector<Contraction::Part> parts(tiles.size());
  std::vector<Contraction::Scratch> scratch(static_cast<std::size_t>(context.threads()));
  const double work = 4 * kernel.work() * static_cast<double>(m) * static_cast<double>(m);
  parallel_for(context, static_cast<Index>(tiles.size()), workers_for(context, work),
               [&](Index at, const Worker& worker) {
                 const auto& t = tiles[static_cast<std::size_t>(at)];
                 Contraction::Part& part = parts[static_cast<std::size_t>(at)];
                 part = contraction.part(t.last - t.first, t.columns);
                 for (Index first = t.first; first < t.last; first += kRows) {
                   const Index rows = std::min(kRows, t.last - first);
                   Matrix<double> G(rows, t.columns);
                   for (Index q = 0; q < t.columns; ++q) {
                     const Index column = t.column + q;
                     const double* const from = A.at(t) + q * A.ld(t.j) + (first - t.first);
                     for (Index i = 0; i < rows; ++i) {
                       const double twice = first + i > column ? 2 : first + i == column ? 1 : 0;
                       G(i, q) = twice == 0 ? 0 : twice * s[first + i] * s[column] * from[i];
                     }
                   }
                   contraction.add(first, t.column, G, first - t.first, part,
                                   scratch[static_cast<std::size_t>(worker.id())], {context, worker});
                 }
               });
  // Added up in the order of the tiles: the same whatever the number of threads.
  std::vector<double> sums = std::move(parts.front().sums);
  for (std::size_t t = 1; t < parts.size(); ++t)
    vmath::add(sums.data(), parts[t].sums.data(), static_cast<Index>(sums.size()));
  for (std::size_t which = 0; which < contraction.normalizers(); ++which) {
    Vector<double> share = Vector<double>::Zero(m);
    for (std::size_t t = 0; t < parts.size(); ++t) {
      share.segment(tiles[t].first, tiles[t].last - tiles[t].first) += parts[t].rows[which];
      share.segment(tiles[t].column, tiles[t].columns) += parts[t].columns[which];
    }
    contraction.add_diagonal(which, share, sums);
  }
  contraction.unpack(sums, out);
  return out;
}

double gradient_bytes(Index m, Criterion criterion, Index n_columns, Index n_left_out) {
  require_count(m, "samples");
  require_count(n_columns, "columns");
  require_count(n_left_out, "groups");
  const auto rows = static_cast<double>(m);
  const double half = BlockTriangle<double>::bytes(m), whole = 8 * rows * rows;
  return half + (criterion == Criterion::leave_one_out ? std::max(half, whole) : half) +
         32 * rows * static_cast<double>(n_columns) +
         (criterion == Criterion::leave_groups_out ? 64 * rows * static_cast<double>(n_left_out) : 0);
}

}  // namespace grls
