#include "kernels/input_gradient.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "data/coordinates.hpp"
#include "kernels/reverse.hpp"

namespace grls {
namespace {

constexpr Index kRows = 256, kColumns = 64;  // a tile and its derivatives stay in the second-level cache
constexpr Index kSplit = 8;                  // enough tasks for the threads of a small machine
constexpr Index kDirectColumns = 12;         // up to here differences, which keep all digits of close points

// The coordinates of one set of points in a group, as each quantity sees them.
struct Coordinates {
  Matrix<double> products, others;  // (n, D), empty where no term asks for them

  Coordinates(const Rows& rows, const ColumnGroup& group, const std::vector<double>& centre) {
    if (group.products) products = coordinates(rows, group, group.centre);
    if (group.distances || group.manhattan || group.chi_squared) others = coordinates(rows, group, centre);
  }
};

// What is added up for a block of rows: of each group the gradients by its coordinates, (n, D k), output by
// output; of each step that reads the diagonal its shares, (n, k).
struct Sums {
  std::vector<Matrix<double>> gradients, shares;

  void operator+=(const Sums& other) {
    for (std::size_t g = 0; g < gradients.size(); ++g) gradients[g] += other.gradients[g];
    for (std::size_t s = 0; s < shares.size(); ++s) shares[s] += other.shares[s];
  }
};

using Part = Eigen::Ref<Matrix<double>, 0, Eigen::OuterStride<>>;

// Adds to G (n, D k) what coordinates change through a function of their differences:
// Σ_j c_jo D_ij slope(p_i, q_j).
template <class Slope>
void add_by_differences(const Matrix<double>& D, const Eigen::Ref<const Matrix<double>>& P,
                        const Eigen::Ref<const Matrix<double>>& Q, const Eigen::Ref<const Matrix<double>>& c,
                        Part G, const Slope& slope) {
  const Index n = D.rows();
  std::vector<double> change(static_cast<std::size_t>(n));
  for (Index p = 0; p < P.cols(); ++p)
    for (Index j = 0; j < D.cols(); ++j) {
      const double* const by = D.data() + j * n;
      const double* const x = P.data() + p * P.outerStride();
      const double z = Q(j, p);
      for (Index i = 0; i < n; ++i) change[static_cast<std::size_t>(i)] = by[i] * slope(x[i], z);
      for (Index o = 0; o < c.cols(); ++o) {
        double* const to = G.data() + (o * P.cols() + p) * G.outerStride();
        const double weight = c(j, o);
        for (Index i = 0; i < n; ++i) to[i] += weight * change[static_cast<std::size_t>(i)];
      }
    }
}

// Adds factor Σ_j c_jo D_ij q_j to G.
void add_by_points(double factor, const Matrix<double>& D, const Eigen::Ref<const Matrix<double>>& Q,
                   const Eigen::Ref<const Matrix<double>>& c, Part G) {
  for (Index o = 0; o < c.cols(); ++o) {
    const Matrix<double> weighted = c.col(o).asDiagonal() * Q;
    blas::gemm(blas::Op::none, blas::Op::none, D.rows(), Q.cols(), D.cols(), factor, D.data(), D.rows(),
               weighted.data(), weighted.rows(), 1.0, G.data() + o * Q.cols() * G.outerStride(),
               G.outerStride());
  }
}

class InputGradient {
  // A combination of one operand on the way back.
  auto combination(Index n) const {
    return
        [this, n](std::size_t s, const double* x, const double* value, const double* weight, double* back) {
          differentiate_combination(formula_.steps()[s], x, value, weight, n, back, nullptr);
        };
  }

 public:
  InputGradient(const Context& context, const Formula& formula, const Rows& points, const Matrix<double>& c)
      : formula_(formula), c_(c), reverse_(formula), kernel_(context, formula, points) {
    for (const ColumnGroup& group : formula.groups()) {
      centres_.push_back(centre_of(context, points, group));
      points_.emplace_back(points, group, centres_.back());
    }
  }

  void set_rows(const Context& context, const Rows& rows) {
    kernel_.set_rows(context, rows);
    rows_.clear();
    for (std::size_t g = 0; g < centres_.size(); ++g)
      rows_.emplace_back(rows, formula_.groups()[g], centres_[g]);
  }

  Sums sums(Index n, Index d) const {
    Sums out;
    for (const ColumnGroup& group : formula_.groups())
      out.gradients.push_back(Matrix<double>::Zero(n, group.dimension(d) * c_.cols()));
    out.shares.assign(reverse_.normalizers().size(), Matrix<double>::Zero(n, c_.cols()));
    return out;
  }

  struct Scratch {
    KernelTiles<double>::Scratch kernel;
    Reverse::Scratch steps;
    std::vector<double> slope;
    std::vector<Matrix<double>> by_products, by_others;  // of each group, (ni, nj)
  };

  double work() const { return 4 * kernel_.work() * static_cast<double>(1 + c_.cols()); }

  // The points [j0, j0 + nj) for the rows [i0, i0 + ni).
  void add(Index i0, Index ni, Index j0, Index nj, Sums& sums, Scratch& scratch,
           const Checkpoint& checkpoint) const {
    differentiate(i0, ni, j0, nj, sums, scratch, checkpoint);
    const Eigen::Ref<const Matrix<double>> c = c_.middleRows(j0, nj);
    for (std::size_t g = 0; g < points_.size(); ++g) {
      const ColumnGroup& group = formula_.groups()[g];
      Part G = sums.gradients[g].middleRows(i0, ni);
      if (group.products)
        add_by_points(1, scratch.by_products[g], points_[g].products.middleRows(j0, nj), c, G);
      if (group.distances || group.manhattan || group.chi_squared)
        add_others(group, scratch.by_others[g], rows_[g].others.middleRows(i0, ni),
                   points_[g].others.middleRows(j0, nj), c, G);
    }
  }

  // What a step that reads the diagonal gives through k(x, x), n rows.
  void add_diagonal(std::size_t which, Index n, Sums& sums) const {
    const std::vector<Step>& steps = formula_.steps();
    const std::size_t s = reverse_.normalizers()[which];
    const auto child = static_cast<std::size_t>(reverse_.children(s).first);
    const auto from = static_cast<std::size_t>(reverse_.children(child).first_of_all);
    std::vector<Vector<double>> squares(points_.size());
    for (std::size_t g = 0; g < points_.size(); ++g)
      if (formula_.groups()[g].products) squares[g] = rows_[g].products.rowwise().squaredNorm();
    const Vector<double> zero = Vector<double>::Zero(n);
    const auto quantity_of = [&](const Step& step) -> const double* {
      return quantity(step.term) == Quantity::products ? squares[static_cast<std::size_t>(step.group)].data()
                                                       : zero.data();
    };
    Reverse::Scratch scratch;
    reverse_.reserve(n, scratch);
    reverse_.forward(from, s, n, quantity_of, scratch, [&](std::size_t inner, double* x) {
      for (Index i = 0; i < n; ++i) x[i] = on_own_diagonal(steps[inner], x[i]);
    });
    std::fill_n(scratch.weights.data() + static_cast<Index>(child) * n, n, 1.0);
    // Half of the share with the sign turned, over k(x, x): what k(x, x) counts.
    const Eigen::Map<const Vector<double>> roots(kernel_.row_roots(s), n);
    const Matrix<double> counts = -0.5 * roots.cwiseAbs2().asDiagonal() * sums.shares[which];
    Vector<double> slope(n);
    const auto term = [&](std::size_t t, const double* value, const double* weight) {
      if (quantity(steps[t].term) != Quantity::products) return;  // no point is away from itself
      const auto g = static_cast<std::size_t>(steps[t].group);
      slope_by_quantity(steps[t], quantity_of(steps[t]), value, n, slope.data());
      slope.array() *= 2 * Eigen::Map<const Eigen::ArrayXd>(weight, n);
      const Matrix<double>& P = rows_[g].products;
      for (Index o = 0; o < c_.cols(); ++o)
        sums.gradients[g].middleCols(o * P.cols(), P.cols()) +=
            slope.cwiseProduct(counts.col(o)).asDiagonal() * P;
    };
    reverse_.backward(from, s, n, scratch, term, combination(n),
                      [&](std::size_t inner, const double* k, const double*, const double* w, double* back) {
                        for (Index i = 0; i < n; ++i)
                          back[i] = w[i] * slope_on_own_diagonal(steps[inner], k[i]);
                      });
  }

  std::size_t normalizers() const { return reverse_.normalizers().size(); }

 private:
  // The derivatives of the kernel by what terms read, and the shares of steps that read the diagonal.
  void differentiate(Index i0, Index ni, Index j0, Index nj, Sums& sums, Scratch& scratch,
                     const Checkpoint& checkpoint) const {
    const std::vector<Step>& steps = formula_.steps();
    const auto read = kernel_.quantities(i0, ni, j0, nj, scratch.kernel, checkpoint);
    scratch.by_products.assign(points_.size(), Matrix<double>::Zero(ni, nj));
    scratch.by_others.assign(points_.size(), Matrix<double>::Zero(ni, nj));
    scratch.slope.resize(static_cast<std::size_t>(ni));
    reverse_.reserve(ni, scratch.steps);
    Vector<double> share(ni);
    for (Index j = 0; j < nj; ++j) {
      const auto quantity_of = [&](const Step& step) {
        return read.of(step.group, quantity(step.term)) + j * ni;
      };
      reverse_.forward(0, steps.size(), ni, quantity_of, scratch.steps, [&](std::size_t s, double* x) {
        apply_on_diagonal(steps[s], x, kernel_.row_roots(s) + i0, kernel_.column_roots(s)[j0 + j], ni);
      });
      std::fill_n(scratch.steps.weights.data() + (steps.size() - 1) * static_cast<std::size_t>(ni), ni, 1.0);
      const auto term = [&](std::size_t s, const double* value, const double* weight) {
        const Quantity what = quantity(steps[s].term);
        if (what == Quantity::none) return;
        slope_by_quantity(steps[s], quantity_of(steps[s]), value, ni, scratch.slope.data());
        vmath::multiply(scratch.slope.data(), weight, ni);
        auto& D = what == Quantity::products ? scratch.by_products : scratch.by_others;
        vmath::add(D[static_cast<std::size_t>(steps[s].group)].data() + j * ni, scratch.slope.data(), ni);
      };
      reverse_.backward(
          0, steps.size(), ni, scratch.steps, term, combination(ni),
          [&](std::size_t s, const double* k, const double* value, const double* weight, double* back) {
            differentiate_on_diagonal(steps[s], k, value, kernel_.row_roots(s) + i0,
                                      kernel_.column_roots(s)[j0 + j], weight, ni, back, share.data());
            sums.shares[reverse_.normalizer(s)].middleRows(i0, ni) += share * c_.row(j0 + j);
          });
    }
  }

  static void add_others(const ColumnGroup& group, const Matrix<double>& D,
                         const Eigen::Ref<const Matrix<double>>& P, const Eigen::Ref<const Matrix<double>>& Q,
                         const Eigen::Ref<const Matrix<double>>& c, Part G) {
    if (group.manhattan)
      return add_by_differences(D, P, Q, c, G, [](double p, double q) { return double((p > q) - (p < q)); });
    if (group.chi_squared)
      return add_by_differences(D, P, Q, c, G, [](double p, double q) {
        const double sum = p + q;
        return sum > 0 ? (p - q) * (p + 3 * q) / (sum * sum) : 0.0;
      });
    if (P.cols() <= kDirectColumns)
      return add_by_differences(D, P, Q, c, G, [](double p, double q) { return 2 * (p - q); });
    const Matrix<double> totals = D * c;
    for (Index o = 0; o < c.cols(); ++o)
      G.middleCols(o * P.cols(), P.cols()) += 2 * totals.col(o).asDiagonal() * P;
    add_by_points(-2, D, Q, c, G);
  }

  const Formula& formula_;
  const Matrix<double>& c_;
  Reverse reverse_;
  KernelTiles<double> kernel_;
  std::vector<std::vector<double>> centres_;
  std::vector<Coordinates> points_, rows_;  // of each group
};

// Rows at a time, so that what is added up for them takes about 32 MiB.
Index block_rows(const Formula& formula, Index d, Index k) {
  Index numbers = 1;
  for (const ColumnGroup& group : formula.groups()) numbers += (2 + k) * group.dimension(d);
  return std::max<Index>(kRows, (Index(1) << 22) / numbers / kRows * kRows);
}

void check(const Formula& formula, const Rows& rows, const Rows& points, const Matrix<double>& c) {
  require(!std::holds_alternative<CsrRows>(rows) && !std::holds_alternative<CsrRows>(points),
          "gradients by the columns need dense rows");
  require(column_count(rows) == column_count(points), "the two sets of points have ", column_count(rows),
          " and ", column_count(points), " columns");
  require(c.rows() == row_count(points), "there are ", c.rows(), " kernel coefficients for ",
          row_count(points), " training points");
  for (const ColumnGroup& group : formula.groups())
    require(!group.mismatches, "a kernel of labels has no derivative by its columns");
}

}  // namespace

void input_gradient(const Context& context, const Formula& formula, const Rows& rows, const Rows& points,
                    const Matrix<double>& c, double* out) {
  check(formula, rows, points, c);
  const Index q = row_count(rows), m = row_count(points), d = column_count(rows), k = c.cols();
  std::fill_n(out, q * d * k, 0.0);
  if (q == 0 || m == 0 || k == 0) return;
  InputGradient gradient(context, formula, points, c);
  std::vector<InputGradient::Scratch> scratch(static_cast<std::size_t>(context.threads()));
  const Index block = block_rows(formula, d, k);
  for (Index start = 0; start < q; start += block) {
    const Index count = std::min(block, q - start), tiles = (count + kRows - 1) / kRows;
    const Rows some = slice(rows, start, count);
    gradient.set_rows(context, some);
    // As in kernel_times: in how many parts the points are split does not depend on the threads.
    const Index parts = tiles >= kSplit ? 1 : std::min(kSplit, (m + 4 * kColumns - 1) / (4 * kColumns));
    const Index share = (m + parts - 1) / parts;
    std::vector<Sums> sums(static_cast<std::size_t>(parts), gradient.sums(count, d));
    const double work = static_cast<double>(count) * static_cast<double>(m) * gradient.work();
    parallel_for(context, tiles * parts, workers_for(context, work), [&](Index t, const Worker& worker) {
      const Index first = (t % tiles) * kRows, n = std::min(kRows, count - first), part = t / tiles;
      const Index last = std::min(m, (part + 1) * share);
      for (Index j = part * share; j < last; j += kColumns) {
        gradient.add(first, n, j, std::min(kColumns, last - j), sums[static_cast<std::size_t>(part)],
                     scratch[static_cast<std::size_t>(worker.id())], {context, worker});
        if (worker.stopped()) return;
        if (worker.id() == 0) context.poll();
      }
    });
    for (std::size_t part = 1; part < sums.size(); ++part) sums[0] += sums[part];
    for (std::size_t s = 0; s < gradient.normalizers(); ++s) gradient.add_diagonal(s, count, sums[0]);
    for (std::size_t g = 0; g < formula.groups().size(); ++g) {
      const ColumnGroup& group = formula.groups()[g];
      const Index D = group.dimension(d);
      for (Index o = 0; o < k; ++o)
        add_by_columns(some, group, sums[0].gradients[g].middleCols(o * D, D), o, k, out + start * d * k);
    }
    context.poll();
  }
}

}  // namespace grls
