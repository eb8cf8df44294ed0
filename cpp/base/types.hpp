// Common types. Letters follow the papers:
//   m samples, l predefined features, d input columns, k outputs
//   T (m, l) features at the samples      Phi (m, m) kernel matrix
//   Y (m, k) targets                      c (m, k) kernel coefficients, beta (l, k) feature coefficients
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "base/storage.hpp"

namespace grls {

using Index = std::ptrdiff_t;

template <class S>
using Matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
template <class S>
using Vector = Eigen::Matrix<S, Eigen::Dynamic, 1>;

using IndexList = std::vector<Index>;

}  // namespace grls
