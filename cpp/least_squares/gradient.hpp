// How good a kernel is, and which way to turn its parameters: the value and the gradient of the restricted
// likelihood and of the error of rows left out, one by one or by groups.
//
// The samples are distinct points, at each of which one row or several are: rows i of weights w_i at point j,
// of total weight W_j, deviate from their mean y_j by a_i. Each may stand for r_i rows; R = Σr. With
// B = N (NᵀΦN + sI)⁻¹ Nᵀ (m, m) and c = By, all of it in the scale of √W:
//   restricted likelihood  J = log det(NᵀΦN + sI) + (R - m) log s + (R - l) mean_p log(q / (R - l)),
//                          q = yᵀBy + Σ_i w_i a_i² / s                        G = B - (R - l) mean_p c cᵀ / q
//   leave one out          J = mean_p Σ_i w_i e_i² / Σw, v_i = w_i / W_j min(1, 1 / r_i),
//                          e_i = (a_i + s c_j / √W_j) / d_i, d_i = 1 - v_i + v_i s B_jj
//                          G = B diag(h) B - ½ Σ_p (u cᵀ + c uᵀ), u = B g, g = ∂J/∂c, h = -∂J/∂B_jj
//   leave groups out       J = mean_p (Σ_i w_i a_i² + Σ_G |e_G|²) / Σw, e_G = B_GG⁻¹c_G
//                          G = Σ_p ½(Σ_G (p_G q_Gᵀ + q_G p_Gᵀ) - u cᵀ - c uᵀ), q_G = B_:G e_G,
//                          p_G = 2 B_:G B_GG⁻¹e_G / (kΣw), u = Σ_G p_G
// G (m, m) is ∂J/∂Φ: the derivative of a parameter θ is Σ_ij G_ij ∂Φ_ij/∂θ, summed up tile by tile in reverse
// mode over the formula (docs/math.md, section "Kernel parameters"). That of s is the trace of G and what J
// shows of s beside B and c.
#pragma once

#include "least_squares/path.hpp"

namespace grls {

enum class Criterion { restricted_likelihood, leave_one_out, leave_groups_out };

// The rows that the samples of a problem stand for; without any, each sample is one, whatever it weighs.
struct RepeatedRows {
  IndexList point;            // (rows): the sample each row is at
  Vector<double> weights;     // (rows), positive; those of a point add up to its weight
  Vector<double> counts;      // (rows), positive: how many rows each stands for, of which one is left out
  Matrix<double> deviations;  // (rows, k) of the rows from the mean of their point
};

struct Gradient {
  double value = 0;
  double shift = 0;  // ∂J/∂s
  Scale scale;       // of NᵀΦN
  // Of each step of the formula, zero where a step has no such parameter.
  Vector<double> a, b;
  std::vector<std::vector<double>> coefficients;
  // Of each column group, empty where it was not asked for or has none.
  std::vector<std::vector<double>> widths, periods, maps;
};

// groups: the column groups whose widths, periods and maps are wanted. left_out: the samples that are left
// out together, for that criterion; they hold each sample once.
Gradient criterion_gradient(const Context& context, const Problem& problem, Criterion criterion,
                            const IndexList& groups, const RepeatedRows& repeated = {},
                            const Groups& left_out = {});

// Its memory: the matrix and its inverse, for leave one out the matrix in full, and for groups two columns
// for each of them and each output, there and back; and the columns whose widths are wanted.
double gradient_bytes(Index m, Criterion criterion, Index n_columns, Index n_left_out);

}  // namespace grls
