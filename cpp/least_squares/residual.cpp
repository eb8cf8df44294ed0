#include "least_squares/residual.hpp"

#include "kernels/predict.hpp"

namespace grls {

Matrix<double> residuals(const Context& context, const Problem& problem, const Basis& basis,
                         const Matrix<double>& c, const Matrix<double>& beta) {
  Matrix<double> left = problem.Y - problem.T * beta;
  if (const auto* kernel = std::get_if<KernelOfRows>(&problem.gram)) {
    left -= kernel_times<double>(context, kernel->formula, kernel->rows, kernel->rows, c);
  } else {
    const auto& gram = std::get<GivenGram>(problem.gram);
    const Eigen::Map<const Matrix<double>> values(gram.data, gram.m, gram.m);
    left.noalias() -= values.selfadjointView<Eigen::Lower>() * c;
  }
  Vector<double> shift = Vector<double>::Constant(c.rows(), problem.shift);
  if (problem.weights.size() > 0) shift = shift.cwiseQuotient(problem.weights);
  if (problem.formulation == Formulation::published)
    for (Index p = c.rows() - basis.rank(); p < c.rows(); ++p)
      shift[basis.order[static_cast<std::size_t>(p)]] = 0;
  return left - shift.asDiagonal() * c;
}

}  // namespace grls
