// Rows k(x_i, ·) of the kernel matrix, evaluated in batches when asked for and kept as long as there is room.
#pragma once

#include <cstdint>
#include <memory>

#include "matrices/assemble.hpp"

namespace grls {

template <class S>
class KernelRows {
 public:
  // order: the samples that take part, in this order; `bytes` of memory at most, but room for `least` rows.
  KernelRows(const Context& context, const GramSource& source, const IndexList& order, double bytes,
             Index least);

  Index size() const { return static_cast<Index>(order_.size()); }
  Index capacity() const { return capacity_; }

  // The rows of these places, at most capacity() different ones; valid until the next call.
  std::vector<const S*> fetch(const Context& context, const IndexList& places);

  // The bytes of memory that the rows of m samples take at most.
  static double bytes(Index m, double cache_bytes, Index least);

  // k(x_i, x_i)
  double diagonal(Index place) const;

 private:
  static constexpr Index kChunk = 64;  // rows allocated at a time

  S* row(Index slot);
  IndexList claim(const IndexList& missing);
  void evaluate(const Context& context, const IndexList& places, const std::vector<S*>& to);

  const GramSource& source_;
  IndexList order_;
  std::unique_ptr<KernelTiles<S>> tiles_;
  bool in_order_;  // the samples are all there, as they come
  Index stride_, capacity_;
  std::vector<std::unique_ptr<Buffer>> chunks_;
  IndexList slot_of_;                // by place; -1: not there
  IndexList place_of_;               // by slot
  std::vector<std::int64_t> stamp_;  // by slot: when it was asked for last
  std::int64_t now_ = 0;
};

}  // namespace grls
