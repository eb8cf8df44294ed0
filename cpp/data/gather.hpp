// Some rows of a data matrix, copied one after the other.
#pragma once

#include <memory>
#include <variant>

#include "data/points.hpp"

namespace grls {

class GatheredRows {
 public:
  GatheredRows(const Rows& rows, const IndexList& chosen);
  GatheredRows(const GatheredRows&) = delete;
  GatheredRows& operator=(const GatheredRows&) = delete;
  const Rows& view() const { return *view_; }

 private:
  template <class S>
  void gather(const DenseRows<S>& rows, const IndexList& chosen);
  void gather(const CsrRows& rows, const IndexList& chosen);

  std::variant<std::vector<double>, std::vector<float>> values_;
  std::vector<std::int64_t> columns_, starts_;
  std::unique_ptr<Rows> view_;
};

}  // namespace grls
