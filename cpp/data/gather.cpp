#include "data/gather.hpp"

namespace grls {

GatheredRows::GatheredRows(const Rows& rows, const IndexList& chosen) {
  std::visit([&](const auto& r) { gather(r, chosen); }, rows);
}

template <class S>
void GatheredRows::gather(const DenseRows<S>& rows, const IndexList& chosen) {
  auto& values = values_.emplace<std::vector<S>>();
  values.reserve(chosen.size() * static_cast<std::size_t>(rows.d));
  for (const Index i : chosen)
    values.insert(values.end(), rows.data + i * rows.d, rows.data + (i + 1) * rows.d);
  view_ = std::make_unique<Rows>(DenseRows<S>{values.data(), static_cast<Index>(chosen.size()), rows.d});
}

void GatheredRows::gather(const CsrRows& rows, const IndexList& chosen) {
  auto& values = values_.emplace<std::vector<double>>();
  starts_.assign(1, 0);
  for (const Index i : chosen) {
    values.insert(values.end(), rows.values + rows.starts[i], rows.values + rows.starts[i + 1]);
    columns_.insert(columns_.end(), rows.columns + rows.starts[i], rows.columns + rows.starts[i + 1]);
    starts_.push_back(static_cast<std::int64_t>(values.size()));
  }
  view_ = std::make_unique<Rows>(
      CsrRows{values.data(), columns_.data(), starts_.data(), static_cast<Index>(chosen.size()), rows.d});
}

}  // namespace grls
