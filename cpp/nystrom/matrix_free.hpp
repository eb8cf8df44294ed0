// The exact model of least_squares/least_squares.hpp without its matrix: conjugate gradients on kernel tiles
// that are evaluated again in every step.
//
// With sample weights W, s the shift, y <- W½y, T <- W½T, Φ <- W½ΦW½, T = QC and Π = I - QQᵀ the minimiser is
//   (ΠΦΠ + s) c = Πy,   Qᵀc = 0,   C β = Qᵀ(y - Φc).
// One product ΦQ beforehand gives what β and its covariance need. The preconditioner is ΠBBᵀΠ + s, b(x)ᵀb(x')
// the Nyström approximation of the kernel on some centres (nystrom/nystrom.hpp), inverted by Woodbury's
// formula.
#pragma once

#include "least_squares/least_squares.hpp"
#include "matrices/conjugate_gradients.hpp"
#include "nystrom/nystrom.hpp"

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

// The memory of solve_cg: the functions of the centres at the samples, how they are found, and vectors.
double solve_cg_bytes(Index m, Index n_outputs, Index n_centres);

struct MatrixFreeSolution {
  Solution solution;
  double residual = 0;  // relative, of the worst column
  Status status = Status::converged;
  double precondition_seconds = 0, solve_seconds = 0;
};

// The problem's gram must be a kernel to evaluate, its formulation exact and its features unpenalised.
// Precision float64 or automatic: double precision throughout; otherwise products in single precision,
// corrected by residuals in double precision.
MatrixFreeSolution solve_cg(const Context& context, const Problem& problem, const GradientsOptions& options,
                            Index n_centres);

}  // namespace grls
