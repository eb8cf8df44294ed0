#include "least_squares/path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "least_squares/inverse.hpp"
#include "matrices/factor.hpp"
#include "matrices/products.hpp"

namespace grls {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kRounding = 32 * kEpsilon;  // a few units in the last place on average
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

Path empty_path(const Scale& scale, const IndexList& kept, const Vector<double>& shifts, bool relative,
                Index k) {
  require(shifts.size() > 0 && shifts.minCoeff() > 0, "the shifts of a path must be positive");
  const Index g = shifts.size();
  Path path;
  path.kept = kept;
  path.scale = scale;
  path.shifts = relative ? Vector<double>(shifts * scale.unit) : shifts;
  path.log_determinant.setConstant(g, kUnknown);
  path.trace.setConstant(g, kUnknown);
  path.quadratic.setConstant(g, k, kUnknown);
  path.squared_norm.setConstant(g, k, kUnknown);
  return path;
}

}  // namespace

Scale scale_of(double mean, double left, double whole, double share, double rounding) {
  if (left > share * whole) return {mean, false, rounding};
  return {whole > 0 ? whole : 1, true, rounding};
}

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

Reduction ReducedMatrix::set(const Context& context, BlockTriangle<double>& A, Matrix<double> rhs) {
  const Reduction reduction(context, A);
  band_ = reduction.band();
  rhs_ = reduction.transposed_times(std::move(rhs));
  return reduction;
}

Path ReducedMatrix::at(const Context& context, const Vector<double>& shifts, bool relative) const {
  Path path = empty_path(scale_, kept_, shifts, relative, n_outputs_);
  const Index g = path.shifts.size(), k = n_outputs_;
  const bool samples = U_.size() > 0;
  begin(path);
  if (band_.is_diagonal()) {
    from_eigenvalues(context, path);
    return path;
  }
  std::vector<BandFactor> factors;  // and the solutions: kept only where every sample asks for them
  std::vector<Matrix<double>> Z;
  for (Index p = 0; p < g; ++p) {
    BandFactor factor(band_, path.shifts[p]);
    Matrix<double> solution;
    if (factor.definite) {
      const Matrix<double> W = factor.forward(rhs_);
      solution = factor.backward(W);
      path.log_determinant[p] = factor.log_determinant;
      path.trace[p] = factor.trace();
      path.quadratic.row(p) = W.leftCols(k).colwise().squaredNorm();
      path.squared_norm.row(p) = solution.leftCols(k).colwise().squaredNorm();
      at_shift(p, W, path);
    }
    if (samples) {
      factors.push_back(std::move(factor));
      Z.push_back(std::move(solution));
    }
    context.poll();
  }
  if (!samples) return path;
  path.diagonal.assign(static_cast<std::size_t>(g), Vector<double>::Constant(U_.cols(), kUnknown));
  std::vector<Matrix<double>> products(static_cast<std::size_t>(g),
                                       Matrix<double>::Constant(U_.cols(), rhs_.cols(), kUnknown));
  per_sample(context, U_, factors, Z, path.diagonal, products);
  for (Index p = 0; p < g; ++p) at_samples(p, std::move(products[static_cast<std::size_t>(p)]), path);
  return path;
}

LeftOut ReducedMatrix::leave_out(const Context&, double, const Groups&, const Matrix<double>&,
                                 const Matrix<double>&) const {
  throw InvalidArgument("groups of samples can be left out of kernel matrices only");
}

void ReducedMatrix::from_eigenvalues(const Context& context, Path& path) const {
  const Index g = path.shifts.size(), n = band_.n, k = n_outputs_, columns = rhs_.cols(), m = U_.cols();
  Matrix<double> inverse(n, g), Z(n, g * columns);  // of B + sI, and (B + sI)⁻¹ rhs, shift by shift
  for (Index p = 0; p < g; ++p) {
    const Vector<double> shifted = band_.values.array() + path.shifts[p];
    if (!(shifted.minCoeff() > 0)) {
      inverse.col(p).setConstant(kUnknown);
      Z.middleCols(p * columns, columns).setConstant(kUnknown);
      continue;
    }
    inverse.col(p) = shifted.cwiseInverse();
    Z.middleCols(p * columns, columns) = inverse.col(p).asDiagonal() * rhs_;
    path.log_determinant[p] = shifted.array().log().sum();
    path.trace[p] = inverse.col(p).sum();
    const Matrix<double> W = inverse.col(p).cwiseSqrt().asDiagonal() * rhs_;
    path.quadratic.row(p) = W.leftCols(k).colwise().squaredNorm();
    path.squared_norm.row(p) = Z.middleCols(p * columns, k).colwise().squaredNorm();
    at_shift(p, W, path);
    context.poll();
  }
  if (m == 0) return;
  const Matrix<double> squares = U_.cwiseAbs2();
  Matrix<double> diagonals(m, g), products(m, g * columns);
  blas::gemm(blas::Op::transpose, blas::Op::none, m, g, n, 1.0, squares.data(), n, inverse.data(), n, 0.0,
             diagonals.data(), m);
  blas::gemm(blas::Op::transpose, blas::Op::none, m, g * columns, n, 1.0, U_.data(), n, Z.data(), n, 0.0,
             products.data(), m);
  for (Index p = 0; p < g; ++p) {
    path.diagonal.emplace_back(diagonals.col(p));
    at_samples(p, products.middleCols(p * columns, columns), path);
  }
}

namespace {

class ReducedKernelMatrix final : public ReducedMatrix {
 public:
  ReducedKernelMatrix(const Context& context, const Problem& problem, bool leave_one_out)
      : ReducedMatrix(problem.Y.cols()) {
    require(problem.formulation == Formulation::exact, "the regularization path needs formulation='exact'");
    const Assembled<double> assembled = assemble_problem<double>(context, problem);
    const Basis& basis = assembled.basis;
    BlockTriangle<double>& A = *assembled.A;
    const Index m = problem.Y.rows(), n = A.pivots();
    l_ = m - n;
    kept_ = basis.kept;
    scale_ = scale_of(A, m);
    M22_ = symmetric_corner(A, n, m);
    Y2_ = assembled.B.bottomRows(l_);
    Matrix<double> rhs(n, n_outputs_ + l_);  // NᵀY and M₁₂, whose solutions D and the Schur complement are of
    rhs << assembled.B.topRows(n), rows_of(A, n, m, n).transpose();
    const Reduction reduction = set(context, A, std::move(rhs));
    if (leave_one_out) set_samples(context, basis, reduction, n, m);
  }

  LeftOut leave_out(const Context& context, double shift, const Groups& groups, const Matrix<double>& c,
                    const Matrix<double>& extra) const override {
    require(U_.size() > 0, "groups are left out of a matrix that was reduced with leave_one_out");
    require(shift > 0, "the shifts of a path must be positive");
    require(c.rows() == U_.cols(), "c has ", c.rows(), " rows, there are ", U_.cols(), " samples");
    const bool diagonal = band_.is_diagonal();
    const BandFactor factor(band_, shift);
    const Vector<double> root =
        diagonal ? Vector<double>((band_.values.array() + shift).rsqrt()) : Vector<double>();
    if (!(diagonal ? root.allFinite() : factor.definite))
      throw NotPositiveDefinite("the matrix is not positive definite at this shift");
    return grls::leave_out(context, groups, c, extra, band_.n, [&](Index g) {
      Matrix<double> U(band_.n, groups.size(g));
      for (Index i = 0; i < groups.size(g); ++i)
        U.col(i) = U_.col(groups.rows[static_cast<std::size_t>(groups.start(g) + i)]);
      return diagonal ? Matrix<double>(root.asDiagonal() * U) : factor.forward(U);
    });
  }

 private:
  // U = (NQ)ᵀ = [Qᵀ 0] - Qᵀ V_top Zᵀ
  void set_samples(const Context& context, const Basis& basis, const Reduction& reduction, Index n, Index m) {
    U_.resize(n, m);
    reduction.transposed(context, U_.leftCols(n));
    U_.rightCols(l_).setZero();
    if (l_ > 0) {
      Matrix<double> GV(n, l_);
      blas::gemm(blas::Op::none, blas::Op::none, n, l_, n, 1.0, U_.data(), n, basis.V.data(), m, 0.0,
                 GV.data(), n);
      blas::gemm(blas::Op::none, blas::Op::transpose, n, m, l_, -1.0, GV.data(), n, basis.Z.data(), m, 1.0,
                 U_.data(), n);
    }
    Matrix<double> last_columns = Matrix<double>::Zero(m, l_);
    last_columns.bottomRows(l_).setIdentity();
    Q1_ = basis.times(last_columns);
  }

  void begin(Path& path) const override {
    const auto g = static_cast<std::size_t>(path.shifts.size());
    path.schur.assign(g, Matrix<double>::Constant(l_, l_, kUnknown));
    path.r.assign(g, Matrix<double>::Constant(l_, n_outputs_, kUnknown));
  }

  void at_shift(Index p, const Matrix<double>& W, Path& path) const override {
    const auto at = static_cast<std::size_t>(p);
    path.schur[at] = M22_ - transposed_product(W.rightCols(l_), W.rightCols(l_));
    path.schur[at].diagonal().array() += path.shifts[p];
    path.r[at] = Y2_ - transposed_product(W.rightCols(l_), W.leftCols(n_outputs_));
  }

  void at_samples(Index, Matrix<double> product, Path& path) const override {
    path.c.push_back(product.leftCols(n_outputs_));
    path.D.push_back(Q1_ - product.rightCols(l_));  // D = Q₁ - N (H + sI)⁻¹ M₁₂
  }

  Index l_ = 0;
  Matrix<double> M22_, Y2_;  // (l, l) and (l, k) of MᵀΦM and MᵀY
  Matrix<double> Q1_;        // (m, l), with leave_one_out
};

// One shift needs no reduction: its factor and the inverse from it are a third of that work.
Path path_at(const Context& context, const Problem& problem, double shift, bool relative) {
  require(problem.formulation == Formulation::exact, "the regularization path needs formulation='exact'");
  const Assembled<double> assembled = assemble_problem<double>(context, problem);
  const Basis& basis = assembled.basis;
  BlockTriangle<double>& A = *assembled.A;
  const Index m = problem.Y.rows(), k = problem.Y.cols(), n = A.pivots(), l = m - n;
  Path path = empty_path(scale_of(A, m), basis.kept, Vector<double>::Constant(1, shift), relative, k);
  path.schur.assign(1, Matrix<double>::Constant(l, l, kUnknown));
  path.r.assign(1, Matrix<double>::Constant(l, k, kUnknown));
  path.diagonal.assign(1, Vector<double>::Constant(m, kUnknown));
  path.c.assign(1, Matrix<double>::Constant(m, k, kUnknown));
  path.D.assign(1, Matrix<double>::Constant(m, l, kUnknown));
  shift_diagonal(path.shifts[0], m, A);
  set_border(assembled.B, A);
  try {
    partial_llt(context, A);
  } catch (const NotPositiveDefinite&) {
    return path;
  }
  path.log_determinant[0] = 0;
  for (Index i = 0; i < n; ++i) path.log_determinant[0] += 2 * std::log(*A.column(i, i));
  path.schur[0] = symmetric_corner(A, n, m);
  path.r[0] = rows_of(A, m, m + k, m).rightCols(l).transpose();
  // The solutions of NᵀY and M₁₂, whose forward substitutions stand in the border.
  Matrix<double> Z(n, k + l);
  Z << rows_of(A, m, m + k, n).transpose(), rows_of(A, n, m, n).transpose();
  path.quadratic.row(0) = Z.leftCols(k).colwise().squaredNorm();
  solve_transposed(context, A, Z);
  path.squared_norm.row(0) = Z.leftCols(k).colwise().squaredNorm();
  Matrix<double> coordinates = Matrix<double>::Zero(m, k + l);
  coordinates.topRows(n) = Z;
  coordinates.bottomRightCorner(l, l) -= Matrix<double>::Identity(l, l);
  const Matrix<double> in_samples = basis.times(coordinates);
  path.c[0] = in_samples.leftCols(k);
  path.D[0] = -in_samples.rightCols(l);  // D = Q₁ - N (H + sI)⁻¹ M₁₂
  inverse_in_samples(context, basis, m, A);
  path.diagonal[0] = diagonal_of(A, m);
  path.trace[0] = path.diagonal[0].sum();  // the columns of N are orthonormal
  return path;
}

}  // namespace

std::unique_ptr<ReducedMatrix> reduce(const Context& context, const Problem& problem, bool leave_one_out) {
  return std::make_unique<ReducedKernelMatrix>(context, problem, leave_one_out);
}

Path regularization_path(const Context& context, const Problem& problem, const Vector<double>& shifts,
                         bool relative, bool leave_one_out) {
  require(shifts.size() > 0 && shifts.minCoeff() > 0, "the shifts of a path must be positive");
  if (shifts.size() == 1 && leave_one_out) return path_at(context, problem, shifts[0], relative);
  return reduce(context, problem, leave_one_out)->at(context, shifts, relative);
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
  return matrix + 8 * rows * rows +
         8 * rows * static_cast<double>(n_shifts) * (2 * kBandBlock + 1 + 3 * columns);
}

}  // namespace grls
