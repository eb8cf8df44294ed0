// Reverse mode over a formula: the values of all steps forward, then what each of them counts backward, from
// the kernel's value to what the terms read of the points. Column by column, n values at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "base/vmath.hpp"
#include "kernels/kernels.hpp"

namespace grls {

class Reverse {
 public:
  struct Children {
    Index first = -1, second = -1;  // operands of a combination
    Index first_of_all = 0;         // where its part of the formula starts
  };

  // Values and weights of the steps, n of each.
  struct Scratch {
    std::vector<double> values, weights;
  };

  explicit Reverse(const Formula& formula) : steps_(formula.steps()) {
    IndexList stack;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      Children children;
      children.first_of_all = static_cast<Index>(s);
      if (!steps_[s].is_term) {
        if (operands(steps_[s].combine) == 2) {
          children.second = stack.back();
          stack.pop_back();
        }
        children.first = stack.back();
        children.first_of_all = children_[static_cast<std::size_t>(children.first)].first_of_all;
        stack.pop_back();
      }
      stack.push_back(static_cast<Index>(s));
      children_.push_back(children);
      if (steps_[s].reads_diagonal()) normalizers_.push_back(s);
    }
  }

  const Children& children(std::size_t s) const { return children_[s]; }

  // The steps that read the diagonal, and the place of one of them.
  const std::vector<std::size_t>& normalizers() const { return normalizers_; }
  std::size_t normalizer(std::size_t s) const {
    return static_cast<std::size_t>(std::find(normalizers_.begin(), normalizers_.end(), s) -
                                    normalizers_.begin());
  }

  void reserve(Index n, Scratch& scratch) const {
    const std::size_t needed = steps_.size() * static_cast<std::size_t>(n);
    if (scratch.values.size() >= needed) return;
    scratch.values.resize(needed);
    scratch.weights.resize(needed);
  }

  // The values of steps [from, to). quantity_of(step): what a term reads; normalize(s, x): a step that reads
  // the diagonal, on the values x of its operand.
  template <class QuantityOf, class Normalize>
  void forward(std::size_t from, std::size_t to, Index n, const QuantityOf& quantity_of, Scratch& scratch,
               const Normalize& normalize) const {
    for (std::size_t s = from; s < to; ++s) {
      const Step& step = steps_[s];
      double* const x = scratch.values.data() + static_cast<Index>(s) * n;
      if (step.is_term) {
        if (quantity(step.term) != Quantity::none) std::copy_n(quantity_of(step), n, x);
        apply_term(step, x, n);
        continue;
      }
      const Children& children = children_[s];
      std::copy_n(scratch.values.data() + children.first * n, n, x);
      if (step.reads_diagonal()) {
        normalize(s, x);
      } else {
        const Index second = std::max<Index>(children.second, 0);  // not read where there is none
        apply_combination(step, x, scratch.values.data() + second * n, n);
      }
    }
  }

  // From the weights of step `to` - 1 to those of the others. term(s, value, weight): the end of the way;
  // combine(s, operand, value, weight, back): a combination of one operand, normalize the same of a step that
  // reads the diagonal; `back` are the weights of the operand.
  template <class OfTerm, class OfCombination, class Normalize>
  void backward(std::size_t from, std::size_t to, Index n, Scratch& scratch, const OfTerm& term,
                const OfCombination& combine, const Normalize& normalize) const {
    const auto at = [n](std::vector<double>& v, Index s) { return v.data() + s * n; };
    for (std::size_t s = to; s-- > from;) {
      const Step& step = steps_[s];
      const Children& children = children_[s];
      const double* const value = at(scratch.values, static_cast<Index>(s));
      const double* const weight = at(scratch.weights, static_cast<Index>(s));
      if (step.is_term) {
        term(s, value, weight);
        continue;
      }
      double* const back = at(scratch.weights, children.first);
      if (children.second >= 0) {
        double* const other = at(scratch.weights, children.second);
        std::copy_n(weight, n, back);
        std::copy_n(weight, n, other);
        if (step.combine == Combine::product) {
          vmath::multiply(back, at(scratch.values, children.second), n);
          vmath::multiply(other, at(scratch.values, children.first), n);
        }
      } else if (step.reads_diagonal()) {
        normalize(s, at(scratch.values, children.first), value, weight, back);
      } else {
        combine(s, at(scratch.values, children.first), value, weight, back);
      }
    }
  }

 private:
  const std::vector<Step>& steps_;
  std::vector<Children> children_;
  std::vector<std::size_t> normalizers_;
};

}  // namespace grls
