// Conjugate gradients: A X = B for a symmetric positive definite A (n, n) that can be multiplied by, all
// columns of B (n, k) at once, so that every step is one product for all of them.
//
// A column that is solved rests: what is multiplied and preconditioned is zero there. Whenever the recurrence
// of the residuals says that all are, R = B - AX is computed afresh, and the steps start again from it where
// the recurrence had drifted away. Columns may have any size: units that are powers of two keep their squares
// within the numbers, and change no digit.
//
// Where products of fewer digits come cheaper they do the steps, and full products only correct: each start
// asks them for some digits of the residual, as long as they deliver.
#pragma once

#include <functional>
#include <optional>

#include "base/errors.hpp"
#include "base/parallel.hpp"
#include "base/status.hpp"
#include "matrices/blocks.hpp"

namespace grls {

template <class Block>
struct LinearSystem {
  using Multiply = std::function<void(const Block& X, Block& out)>;

  Multiply multiply;                         // out = A X
  std::function<void(Block&)> precondition;  // in place, symmetric and positive definite
  Multiply multiply_roughly = {};            // the same in fewer digits, or empty
};

// Called on the calling thread after each step, and where a residual was computed afresh, with the worst
// column's residual relative to its right-hand side. It may throw to stop.
using GradientsReport = std::function<void(int step, double residual, bool afresh)>;

struct GradientsOptions {
  double tolerance;  // of a column's residual, relative to its right-hand side
  int max_iterations;
  GradientsReport report = {};
  // (k) how many times the tolerance of each column is that; empty: all are alike. Residuals that are
  // reported, and those that are compared with one another, are divided by it. Where it leaves few digits to
  // be found, the recurrence of the residuals is believed.
  Vector<double> relaxed = {};
};

template <class Block>
struct FirstGuess {
  Block X, image;  // image = A X
};

template <class Block>
struct Gradients {
  Block X;
  int iterations = 0;
  Block image;               // A X
  Vector<double> residuals;  // (k) relative ones, of X itself
  Status status = Status::converged;
};

// A product was no number. Becomes ValueError.
struct ProductOverflow : InvalidArgument {
  using InvalidArgument::InvalidArgument;
};

template <class Block>
Gradients<Block> conjugate_gradients(const Context& context, const LinearSystem<Block>& system,
                                     const Block& B, const GradientsOptions& options,
                                     const std::optional<FirstGuess<Block>>& guess = std::nullopt);

}  // namespace grls
