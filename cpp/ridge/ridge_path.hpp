// The regularisation path of ridge regression on the columns of the data.
#pragma once

#include <memory>

#include "least_squares/path.hpp"
#include "ridge/ridge.hpp"

namespace grls {

// The path of least_squares/path.hpp from BᵀB (d, d) instead of the kernel matrix BBᵀ: for data with fewer
// columns than rows. Everything is that of the kernel matrix, but schur, r and D stay empty.
std::unique_ptr<ReducedMatrix> reduce(const Context& context, const RidgeProblem& problem);

// Reduction and path at once.
Path ridge_path(const Context& context, const RidgeProblem& problem, const Vector<double>& shifts,
                bool relative);

// Its memory: the columns and the samples in the basis of the reduction, the matrix and the reflectors as a
// matrix, and for each shift a factor and what it gives of every sample.
double ridge_path_bytes(Index n, Index d, Index n_outputs, Index n_shifts);

}  // namespace grls
