#include "matrices/conjugate_gradients.hpp"

#include <cmath>
#include <utility>

namespace grls {
namespace {

constexpr double kRoughStep = 1e-4;  // what rough products are asked to reduce a residual by
constexpr int kPatience = 20;  // steps without progress that they, and starts from a residual, are granted

PerColumn ratio(const PerColumn& a, const PerColumn& b) {  // 0 / 0 = 0: a column that is solved
  return (b.abs() > 0).select(a / b, 0.0);
}

// The power of two that makes the largest element of each column about one.
template <class Block>
PerColumn units_of(const Block& B) {
  PerColumn units = PerColumn::Ones(B.cols());
  for (Index p = 0; p < B.cols() && B.rows() > 0; ++p) {
    int exponent = 0;
    std::frexp(B.col(p).cwiseAbs().maxCoeff(), &exponent);
    units[p] = std::ldexp(1.0, std::min(std::max(exponent - 1, -1000), 1000));  // its inverse is a number too
  }
  return units;
}

// The iterations for columns of the order of one.
template <class Block>
class Iteration {
 public:
  Iteration(const Context& context, const LinearSystem<Block>& system, Block B,
            const GradientsOptions& options)
      : context_(context),
        system_(system),
        options_(options),
        B_(std::move(B)),
        size_(dot(context, B_, B_).sqrt()),
        relaxed_(options.relaxed.size() > 0 ? PerColumn(options.relaxed.array())
                                            : PerColumn::Ones(B_.cols())),
        stepped_(PerColumn::Zero(B_.cols())),
        X_(Block::Zero(B_.rows(), B_.cols())),
        R_(B_),
        Z_(B_.rows(), B_.cols()),
        D_(B_.rows(), B_.cols()),
        AD_(B_.rows(), B_.cols()) {}

  void start_from(Block X, const Block& image) {
    X_ = std::move(X);
    R_ = B_ - image;
  }

  Gradients<Block> run() {
    bool rough = static_cast<bool>(system_.multiply_roughly);
    PerColumn norm = lengths();
    Gradients<Block> out;
    bool solved = false;
    while (true) {
      require_numbers(norm.allFinite());
      const PerColumn relative = ratio(norm, size_);
      solved = (relative <= options_.tolerance * relaxed_).all();
      if (solved || iterations_ >= options_.max_iterations || stagnated_) {
        out.residuals = relative.matrix();
        break;
      }
      const PerColumn before = norm;
      norm = rough ? correct_roughly(before, rough) : correct(before);
    }
    if (!solved) out.status = stagnated_ ? Status::stagnated : Status::iteration_limit;
    out.image = B_ - R_;
    out.X = std::move(X_);
    out.iterations = iterations_;
    return out;
  }

 private:
  PerColumn lengths() const { return dot(context_, R_, R_).sqrt(); }

  static void require_numbers(bool ok) {
    if (!ok)
      throw ProductOverflow(
          "the products of conjugate gradients overflow: scale the data, the kernel or the targets down");
  }

  void tell(const PerColumn& norm, bool afresh) const {
    if (options_.report) options_.report(iterations_, worst(norm), afresh);
  }

  // The residual of the column that is furthest from its tolerance.
  double worst(const PerColumn& norm) const { return (ratio(norm, size_) / relaxed_).maxCoeff(); }

  // Steps with full products until the tolerance is reached; the lengths of the residuals of X itself. Steps
  // that start again from there must soon bring it down: otherwise rounding errors allow no better.
  PerColumn correct(const PerColumn& before) {
    const bool again = std::exchange(corrected_, true);
    const Block X = again ? X_ : Block(), R = again ? R_ : Block();
    require_numbers(sweep(system_.multiply, options_.tolerance * relaxed_ * size_,
                          again ? kPatience : options_.max_iterations));
    const PerColumn norm = recompute();
    tell(norm, true);
    if (!(norm >= before).all()) return norm;
    stagnated_ = again || iterations_ < options_.max_iterations;
    if (!again) return norm;
    X_ = X;
    R_ = R;
    return before;
  }

  // Steps with rough products for a few digits. Where they have none to give, everything is as before.
  PerColumn correct_roughly(const PerColumn& before, bool& rough) {
    const Block X = X_, R = R_;
    const PerColumn goal = (kRoughStep * before).max(0.5 * options_.tolerance * relaxed_ * size_);
    if (sweep(system_.multiply_roughly, goal, kPatience)) {
      const PerColumn norm = recompute();
      tell(norm, true);
      if (worst(norm) <= 0.5 * worst(before)) return norm;
    }
    rough = false;
    X_ = X;
    R_ = R;
    return before;
  }

  // The residuals of the columns that moved. Those that are asked for fewer digits than rough products have
  // keep what the recurrence says of them.
  PerColumn recompute() {
    const PerColumn again =
        (relaxed_ == 1.0 || options_.tolerance * relaxed_ < 0.5 * kRoughStep).select(stepped_, 0.0);
    system_.multiply(X_ * again.matrix().asDiagonal(), AD_);
    for (Index p = 0; p < B_.cols(); ++p)
      if (again[p] > 0) R_.col(p) = B_.col(p) - AD_.col(p);
    return lengths();
  }

  // Steps from the residual R until each column is below its goal, or `patience` of them brought the worst
  // no nearer to it. False where a product is no number.
  bool sweep(const typename LinearSystem<Block>::Multiply& multiply, const PerColumn& goal, int patience) {
    const PerColumn start = lengths();
    PerColumn active = (start > goal).template cast<double>();
    stepped_ = active;
    Z_ = R_;
    system_.precondition(Z_);
    D_ = Z_ * active.matrix().asDiagonal();
    PerColumn rz = dot(context_, R_, D_);
    double best = worst(start);
    for (int since = 0; active.any() && iterations_ < options_.max_iterations && since < patience;) {
      ++iterations_;
      multiply(D_, AD_);
      const PerColumn alpha = ratio(rz, dot(context_, D_, AD_));
      const PerColumn norm = step(alpha);
      if (!alpha.allFinite() || !norm.allFinite()) return false;
      tell(norm, false);
      const double now = worst(norm);
      since = now < best ? 0 : since + 1;
      best = std::min(best, now);
      active = (norm > goal).template cast<double>();
      if (!active.any()) break;
      if (!active.all()) Z_ *= active.matrix().asDiagonal();
      system_.precondition(Z_);
      const PerColumn next = dot(context_, R_, Z_);
      turn(ratio(next, rz) * active, active);
      rz = next * active;
      context_.poll();
    }
    return true;
  }

  // X += D α, R -= AD α, Z = R; the lengths of R.
  PerColumn step(const PerColumn& alpha) {
    return sum_rows(context_, R_.rows(), 1, R_.cols(), 6 * size_of(R_),
                    [&](Index first, Index count, RowBlock& part) {
                      auto r = R_.middleRows(first, count);
                      X_.middleRows(first, count).noalias() +=
                          D_.middleRows(first, count) * alpha.matrix().asDiagonal();
                      r.noalias() -= AD_.middleRows(first, count) * alpha.matrix().asDiagonal();
                      part = r.array().square().colwise().sum();
                      Z_.middleRows(first, count) = r;
                    })
        .row(0)
        .transpose()
        .array()
        .sqrt();
  }

  // D = D β + Z where a column is active
  void turn(const PerColumn& beta, const PerColumn& active) {
    for_rows(context_, D_.rows(), 3 * size_of(D_), [&](Index first, Index count) {
      auto d = D_.middleRows(first, count);
      d = (d * beta.matrix().asDiagonal() + Z_.middleRows(first, count) * active.matrix().asDiagonal())
              .eval();
    });
  }

  const Context& context_;
  const LinearSystem<Block>& system_;
  const GradientsOptions& options_;
  Block B_;
  PerColumn size_, relaxed_;
  PerColumn stepped_;  // 1 where the last sweep moved a column of X
  Block X_, R_, Z_, D_, AD_;
  int iterations_ = 0;
  bool corrected_ = false, stagnated_ = false;
};

}  // namespace

template <class Block>
Gradients<Block> conjugate_gradients(const Context& context, const LinearSystem<Block>& system,
                                     const Block& B, const GradientsOptions& options,
                                     const std::optional<FirstGuess<Block>>& guess) {
  require(options.tolerance > 0, "the tolerance must be positive");
  require(options.max_iterations >= 1, "at least one iteration is needed");
  require(options.relaxed.size() == 0 || (options.relaxed.size() == B.cols() &&
                                          options.relaxed.minCoeff() >= 1 && options.relaxed.allFinite()),
          "the tolerance of a column must not be below that of all");
  const PerColumn units = units_of(B);
  const Vector<double> inverse = units.inverse().matrix();
  Iteration<Block> iteration(context, system, B * inverse.asDiagonal(), options);
  if (guess) iteration.start_from(guess->X * inverse.asDiagonal(), guess->image * inverse.asDiagonal());
  Gradients<Block> out = iteration.run();
  out.X *= units.matrix().asDiagonal();
  out.image *= units.matrix().asDiagonal();
  return out;
}

template Gradients<RowBlock> conjugate_gradients(const Context&, const LinearSystem<RowBlock>&,
                                                 const RowBlock&, const GradientsOptions&,
                                                 const std::optional<FirstGuess<RowBlock>>&);
template Gradients<Matrix<double>> conjugate_gradients(const Context&, const LinearSystem<Matrix<double>>&,
                                                       const Matrix<double>&, const GradientsOptions&,
                                                       const std::optional<FirstGuess<Matrix<double>>>&);

}  // namespace grls
