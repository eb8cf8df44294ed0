// What a solution leaves of its own equations. The matrix was overwritten by its factor, so kernel values are
// worked out again for it: as much work as they were the first time, hence only where it may be needed.
#pragma once

#include "least_squares/least_squares.hpp"

namespace grls {

// y - f - shift c / w, (m, k). The published equations leave out the last term at the pivot samples.
Matrix<double> residuals(const Context& context, const Problem& problem, const Basis& basis,
                         const Matrix<double>& c, const Matrix<double>& beta);

}  // namespace grls
