// Small dense systems in double precision: Eigen's decompositions behind a few functions, each compiled once.
#pragma once

#include <functional>

#include "base/parallel.hpp"
#include "base/types.hpp"

namespace grls {

// A⁻¹B and A⁻¹, by LU with row pivots, the rows in units of their own: what rounding leaves of a row in large
// units must not be taken for a pivot. Between panels poll is called, which may throw.
Matrix<double> solved(const Matrix<double>& A, const Matrix<double>& B,
                      const std::function<void()>& poll = {});
Matrix<double> inverse_of(const Matrix<double>& A, const std::function<void()>& poll = {});

// A⁻¹b of a symmetric A, positive or negative semidefinite to rounding.
Vector<double> symmetric_solution(const Matrix<double>& A, const Vector<double>& b);

// The shortest x with the smallest |Ax - b|, by QR with column pivots and the rank it finds. Here and below:
// a context is asked between columns whether to go on.
Vector<double> shortest_solution(const Matrix<double>& A, const Vector<double>& b,
                                 const Context* context = nullptr);

// The rank of A that QR with column pivots finds, and the columns in the order in which it takes them: all of
// them, the first min(rows, columns) by size.
struct PivotColumns {
  Index rank;
  IndexList order;
};
PivotColumns pivot_columns(const Matrix<double>& A, const Context* context = nullptr);

// The sizes of the pivots of Gauss's elimination with full pivoting.
Vector<double> pivot_sizes(Matrix<double> A, const Context* context = nullptr);

// L⁻¹ of the Cholesky factor A = LLᵀ; empty where A is not positive definite.
Matrix<double> inverse_of_cholesky_factor(Matrix<double> A);

}  // namespace grls
