// How an iterative method ended.
#pragma once

namespace grls {

enum class Status {
  converged,        // the tolerance was reached
  iteration_limit,  // the iterations allowed ran out before
  stagnated,        // rounding errors, or the problem itself, allow no better
};

}  // namespace grls
