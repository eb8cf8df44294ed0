#include "ridge/ridge_path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "matrices/products.hpp"

namespace grls {
namespace {

constexpr Index kSamples = 128;  // that a task takes
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Share of the columns below which what the features leave of them is made of rounding errors: some dozens of
// units in the last place.
constexpr double kColumnRounding = 1000 * kEpsilon;

// U = QᵀBᵀ (d, m): one column per sample
Matrix<double> samples_in(const Context& context, const Matrix<double>& B, const Reduction& reduction) {
  const Index m = B.rows(), d = B.cols();
  Matrix<double> U(d, m), G(d, d);
  reduction.transposed(context, G);
  const double work = 2.0 * static_cast<double>(d) * static_cast<double>(d) * static_cast<double>(m);
  parallel_for(context, (m + kSamples - 1) / kSamples, workers_for(context, work),
               [&](Index t, const Worker&) {
                 const Index first = t * kSamples, count = std::min(kSamples, m - first);
                 blas::gemm(blas::Op::none, blas::Op::transpose, d, count, d, 1.0, G.data(), d,
                            B.data() + first, m, 0.0, U.data() + first * d, d);
               });
  return U;
}

class ReducedColumns final : public ReducedMatrix {
 public:
  ReducedColumns(const Context& context, const RidgeProblem& problem) : ReducedMatrix(problem.Y.cols()) {
    const FeatureSpan span(context, problem);
    const ProjectedColumns projected(context, problem.rows, span);
    const Index m = problem.Y.rows(), d = projected.B.cols(), n = m - span.Q.cols();
    Y_ = span.Y - product(span.Q, transposed_product(span.Q, span.Y));
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
    U_ = samples_in(context, projected.B, set(context, A, projected.transposed_times(Y_)));
  }

 private:
  // (BBᵀ + sI)⁻¹ = (I - B (BᵀB + sI)⁻¹ Bᵀ) / s on what the features leave
  void at_samples(Index p, Matrix<double> product, Path& path) const override {
    const double s = path.shifts[p];
    Vector<double>& diagonal = path.diagonal[static_cast<std::size_t>(p)];
    diagonal = (1 - taken_.array() - diagonal.array()) / s;
    path.c.push_back((Y_ - product) / s);
    path.log_determinant[p] += missing_ * std::log(s);
    path.trace[p] += missing_ / s;
    // yᵀc = s|c|² + |V|²: no cancellation
    const Eigen::RowVectorXd coefficients = path.squared_norm.row(p);  // |V|²
    path.squared_norm.row(p) = path.c.back().colwise().squaredNorm();
    path.quadratic.row(p) = s * path.squared_norm.row(p) + coefficients;
    path.schur.emplace_back(0, 0);
    path.r.emplace_back(0, n_outputs_);
    path.D.emplace_back(Y_.rows(), 0);
  }

  Matrix<double> Y_;      // (m, k): what the features leave of the targets
  Vector<double> taken_;  // (m): what they take of each sample
  double missing_ = 0;    // eigenvalues 0 that BBᵀ has more than BᵀB
};

}  // namespace

std::unique_ptr<ReducedMatrix> reduce(const Context& context, const RidgeProblem& problem) {
  return std::make_unique<ReducedColumns>(context, problem);
}

Path ridge_path(const Context& context, const RidgeProblem& problem, const Vector<double>& shifts,
                bool relative) {
  require(shifts.size() > 0 && shifts.minCoeff() > 0, "the shifts of a path must be positive");
  return reduce(context, problem)->at(context, shifts, relative);
}

double ridge_path_bytes(Index n, Index d, Index n_outputs, Index n_shifts) {
  require_count(n, "samples");
  require_count(d, "columns");
  require_count(n_outputs, "outputs");
  require_count(n_shifts, "shifts");
  const auto rows = static_cast<double>(n), columns = static_cast<double>(d),
             outputs = static_cast<double>(n_outputs);
  return BlockTriangle<double>::bytes(d) + 8 * columns * columns + 16 * rows * columns +
         8 * static_cast<double>(n_shifts) * ((outputs + 1) * rows + (2 * kBandBlock + outputs) * columns);
}

}  // namespace grls
