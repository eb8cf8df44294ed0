// The exact model of least_squares/least_squares.hpp without its matrix: conjugate gradients on kernel tiles
// that are evaluated again in every step.
//
// With sample weights W, s the shift, y <- W½y, T <- W½T, Φ <- W½ΦW½, T = QC, Π = I - QQᵀ and H = ΠΦΠ the
// minimiser is
//   (H + s) z = Πy,   c = W½z,   C β = Qᵀ(y - Φz).
// Groups may have effects D beside T: Π then takes off the means of the groups too
// (matrices/group_means.hpp), Q is that of what they leave of T, and the effects are the means of y - Φz -
// Tβ. One product ΦQ, made once, gives what β and its covariance need. The preconditioner is ΠBBᵀΠ + s
// (nystrom/low_rank.hpp), inverted by Woodbury's formula. Vectors of the system are those of the weighted
// samples.
#pragma once

#include "least_squares/least_squares.hpp"
#include "matrices/conjugate_gradients.hpp"
#include "nystrom/low_rank.hpp"

namespace grls {

// Orthonormal functions on centres, found from the kernel and the features there.
struct CentreFunctions {
  Whitening whitening;
  IndexList used;  // places of the centres: those that carry a function, then the pivots
};

// T (M, l): the features at the centres. Centres whose functions are the others' up to the share
// `rank_tolerance` of the largest kernel value are left out. Throws NotPositiveDefinite where the kernel is
// not, on what the features leave.
CentreFunctions centre_functions(const Context& context, const Formula& formula, const Rows& centres,
                                 const Matrix<double>& T, double dependence, double rank_tolerance);

// How many centres the preconditioner of m samples has: n_centres at most, 0: as many as are useful.
Index preconditioner_centres(Index m, Index n_centres);

// The memory of the solver: the functions of the centres at the samples, how they are found, and vectors.
double matrix_free_bytes(Index m, Index n_columns, Index n_centres);

struct MatrixFreeSolution {
  Solution solution;
  double residual = 0;  // relative, of the worst column
  Status status = Status::converged;
  double seconds = 0;
};

// Coefficients of the features (l, k), and effects of the groups (G, k).
struct FreePart {
  Matrix<double> beta, effects;
};

// What points are asked about: kernel values with the samples (m, n), features (n, l) there, and the groups
// (n), where these have effects: one past the last stands for the mean effect of all samples.
struct AskedPoints {
  Matrix<double> K, T;
  IndexList groups = {};
};

class MatrixFree {
 public:
  // The problem's gram must be a kernel to evaluate, which is referred to; its targets, shift and precision
  // come later. groups (m): the group of each sample, where groups have effects; else empty.
  MatrixFree(const Context& context, const Problem& problem, const IndexList& groups, Draw draw,
             Index n_centres);

  Index samples() const { return Q_.rows(); }
  const IndexList& kept() const { return basis_.kept; }
  Index groups() const { return groups_.groups(); }  // that have effects
  Index rank() const { return functions_.rank(); }   // of the preconditioner
  double trace() const { return trace_; }            // of H
  double seconds() const { return seconds_; }        // that it took to be made

  // X <- ΠX. Conjugate gradients do not converge where a right-hand side is not of that form: Π is
  // applied twice, and a column that the features express up to rounding is zero.
  void project(Matrix<double>& X) const;
  // H V for V = ΠV.
  Matrix<double> multiply(const Context& context, const Matrix<double>& V) const;
  // BᵀV for V = ΠV.
  Matrix<double> coordinates(const Context& context, const Matrix<double>& V) const;
  // What diagonalises BᵀB once for all shifts is found by the caller.
  const Matrix<double>& gram() const { return functions_.gram(); }
  void rotate(const Context& context, const Matrix<double>& U, const Vector<double>& eigenvalues) {
    functions_.rotate(context, U, eigenvalues);
  }

  // (H + s) X = B for B = ΠB. Precision float64: double precision throughout; float32 or mixed: products in
  // single precision, corrected by residuals in double precision; automatic: that of many samples.
  Gradients<Matrix<double>> solve(const Context& context, const Matrix<double>& B, double shift,
                                  Precision precision, const GradientsOptions& options,
                                  const std::optional<FirstGuess<Matrix<double>>>& guess = {}) const;

  // The model of the targets Y (m, k); guess: of z, with its image under H + s.
  MatrixFreeSolution fit(const Context& context, const Matrix<double>& Y, double shift, Precision precision,
                         const GradientsOptions& options,
                         const std::optional<FirstGuess<Matrix<double>>>& guess) const;

  // What is free beside kernel coefficients c (m, k) of targets Y (m, k); it is linear in both. The effects
  // cost a product.
  FreePart free_part(const Context& context, const Matrix<double>& Y, const Matrix<double>& c) const;

  // What is to be added to the prior covariance (n, n) of points, or to its diagonal (n, 1), for the
  // posterior's, in units of the kernel variance. With the p in the span of W½[D T] that has the same
  // features as the point, W½[D T]ᵀp = [d t] (p = QC⁻ᵀt without groups), and g = Π(W½k - Φp) it is
  //   pᵀΦp + s pᵀp - 2 pᵀW½k - gᵀ(H + s)⁻¹g.
  Matrix<double> add_to_covariance(const Context& context, const AskedPoints& points, double shift,
                                   Precision precision, const GradientsOptions& options, bool diagonal,
                                   Status& status) const;

 private:
  Matrix<double> weighted(const Matrix<double>& X) const;
  template <class S>
  Matrix<double> kernel_product(const Context& context, const Matrix<double>& V) const;
  void project_once(Matrix<double>& X) const;
  Precision precision_of(Precision asked) const;
  Matrix<double> left_by_groups(Matrix<double> T, double tolerance) const;
  double trace_within_groups(const Context& context) const;
  Matrix<double> in_groups(const AskedPoints& points) const;
  Matrix<double> about_groups(const AskedPoints& points) const;

  KernelOfRows kernel_;
  Vector<double> roots_;  // (m) of the sample weights, or empty
  GroupMeans groups_;
  Matrix<double> feature_means_;  // (G, l) of T in the groups
  Basis basis_;
  Matrix<double> Q_, PhiQ_;  // (m, l)
  LowRank functions_;
  double trace_ = 0, seconds_ = 0;
};

}  // namespace grls
