#include "svm/kernel_rows.hpp"

#include <algorithm>
#include <type_traits>

#include "base/errors.hpp"
#include "base/vmath.hpp"
#include "data/gather.hpp"

namespace grls {
namespace {

// A tile of the kernel matrix that stays in the second-level cache until it is copied to its rows.
constexpr Index kTileRows = 256, kTileColumns = 256;

}  // namespace

template <class S>
KernelRows<S>::KernelRows(const Context& context, const GramSource& source, const IndexList& order,
                          double bytes, Index least)
    : source_(source), order_(order) {
  require(bytes >= 0, "the bytes of a cache must not be negative, got ", bytes);
  const Index m = size();
  if (const auto* kernel = std::get_if<KernelOfRows>(&source))
    tiles_ = std::make_unique<KernelTiles<S>>(context, kernel->formula, kernel->rows, order_);
  in_order_ = m == samples_of(source);
  for (Index i = 0; in_order_ && i < m; ++i) in_order_ = order_[static_cast<std::size_t>(i)] == i;
  stride_ = (m + 15) / 16 * 16;
  const double fitting = bytes / (static_cast<double>(stride_) * sizeof(S));
  capacity_ = fitting < static_cast<double>(m) ? std::max(least, static_cast<Index>(fitting)) : m;
  capacity_ = std::min(capacity_, m);
  slot_of_.assign(static_cast<std::size_t>(m), -1);
}

template <class S>
double KernelRows<S>::bytes(Index m, double cache_bytes, Index least) {
  const double row = sizeof(S) * (static_cast<double>(m) + 15);
  return std::min(std::max(cache_bytes, row * static_cast<double>(least)), row * static_cast<double>(m));
}

template <class S>
S* KernelRows<S>::row(Index slot) {
  return static_cast<S*>(chunks_[static_cast<std::size_t>(slot / kChunk)]->data()) + slot % kChunk * stride_;
}

// A slot for each of the places: new ones while there is room, then those asked for longest ago.
template <class S>
IndexList KernelRows<S>::claim(const IndexList& missing) {
  IndexList slots;
  while (slots.size() < missing.size() && static_cast<Index>(place_of_.size()) < capacity_) {
    const auto slot = static_cast<Index>(place_of_.size());
    if (slot % kChunk == 0) {
      const Index rows = std::min(kChunk, capacity_ - slot);
      chunks_.push_back(std::make_unique<Buffer>(static_cast<std::size_t>(rows * stride_) * sizeof(S)));
    }
    place_of_.push_back(-1);
    stamp_.push_back(0);
    slots.push_back(slot);
  }
  const std::size_t wanted = missing.size() - slots.size();
  if (wanted > 0) {
    IndexList old;
    for (Index slot = 0; slot < static_cast<Index>(place_of_.size()); ++slot)
      if (place_of_[static_cast<std::size_t>(slot)] >= 0 && stamp_[static_cast<std::size_t>(slot)] < now_)
        old.push_back(slot);
    require(old.size() >= wanted, "more kernel rows are asked for at once than the cache holds");
    std::nth_element(
        old.begin(), old.begin() + static_cast<std::ptrdiff_t>(wanted - 1), old.end(), [&](Index a, Index b) {
          const auto key = [&](Index s) { return std::make_pair(stamp_[static_cast<std::size_t>(s)], s); };
          return key(a) < key(b);
        });
    for (std::size_t k = 0; k < wanted; ++k) {
      slot_of_[static_cast<std::size_t>(place_of_[static_cast<std::size_t>(old[k])])] = -1;
      slots.push_back(old[k]);
    }
  }
  for (std::size_t k = 0; k < slots.size(); ++k) {
    place_of_[static_cast<std::size_t>(slots[k])] = missing[k];
    slot_of_[static_cast<std::size_t>(missing[k])] = slots[k];
    stamp_[static_cast<std::size_t>(slots[k])] = now_;
  }
  return slots;
}

template <class S>
std::vector<const S*> KernelRows<S>::fetch(const Context& context, const IndexList& places) {
  if constexpr (std::is_same_v<S, double>) {  // a matrix that is given as it is needed: its own rows
    if (const auto* gram = std::get_if<GivenGram>(&source_); gram && in_order_) {
      std::vector<const double*> rows;
      rows.reserve(places.size());
      for (const Index i : places) rows.push_back(gram->data + i * gram->m);
      return rows;
    }
  }
  ++now_;
  IndexList missing;
  for (const Index i : places) {
    Index& slot = slot_of_[static_cast<std::size_t>(i)];
    if (slot >= 0) {
      stamp_[static_cast<std::size_t>(slot)] = now_;
    } else if (slot == -1) {
      missing.push_back(i);
      slot = -2;  // seen
    }
  }
  if (!missing.empty()) {
    for (const Index i : missing) slot_of_[static_cast<std::size_t>(i)] = -1;
    std::vector<S*> to;
    for (const Index slot : claim(missing)) to.push_back(row(slot));
    evaluate(context, missing, to);
  }
  std::vector<const S*> out;
  out.reserve(places.size());
  for (const Index i : places) out.push_back(row(slot_of_[static_cast<std::size_t>(i)]));
  return out;
}

template <class S>
void KernelRows<S>::evaluate(const Context& context, const IndexList& places, const std::vector<S*>& to) {
  const Index m = size(), n = static_cast<Index>(places.size());
  if (const auto* gram = std::get_if<GivenGram>(&source_)) {
    const double work = 2.0 * static_cast<double>(n) * static_cast<double>(m);
    parallel_for(context, n, workers_for(context, work), [&](Index k, const Worker&) {
      const Index sample = order_[static_cast<std::size_t>(places[static_cast<std::size_t>(k)])];
      const double* const from = gram->data + sample * gram->m;
      S* const row = to[static_cast<std::size_t>(k)];
      if (in_order_) {
        for (Index j = 0; j < m; ++j) row[j] = static_cast<S>(from[j]);
      } else {
        for (Index j = 0; j < m; ++j) row[j] = static_cast<S>(from[order_[static_cast<std::size_t>(j)]]);
      }
    });
    return;
  }
  IndexList samples;
  for (const Index i : places) samples.push_back(order_[static_cast<std::size_t>(i)]);
  const GatheredRows gathered(std::get<KernelOfRows>(source_).rows, samples);
  tiles_->set_rows(context, gathered.view());
  struct Local {
    std::vector<S> tile;
    typename KernelTiles<S>::Scratch scratch;
  };
  std::vector<Local> locals(static_cast<std::size_t>(context.threads()));
  const Index tiles = (m + kTileColumns - 1) / kTileColumns;
  const double work = static_cast<double>(n) * static_cast<double>(m) * tiles_->work();
  parallel_for(context, tiles, workers_for(context, work), [&](Index t, const Worker& worker) {
    Local& local = locals[static_cast<std::size_t>(worker.id())];
    local.tile.resize(static_cast<std::size_t>(std::min(kTileRows, n) * kTileColumns));
    const Index j = t * kTileColumns, columns = std::min(kTileColumns, m - j);
    for (Index i = 0; i < n; i += kTileRows) {
      const Index rows = std::min(kTileRows, n - i);
      tiles_->evaluate_rows(i, rows, j, columns, local.tile.data(), columns, local.scratch,
                            {context, worker});
      for (Index k = 0; k < rows; ++k)
        std::copy_n(local.tile.data() + k * columns, columns, to[static_cast<std::size_t>(i + k)] + j);
    }
  });
}

template <class S>
double KernelRows<S>::diagonal(Index place) const {
  const Index sample = order_[static_cast<std::size_t>(place)];
  if (const auto* gram = std::get_if<GivenGram>(&source_)) return gram->data[sample * gram->m + sample];
  const auto& kernel = std::get<KernelOfRows>(source_);
  const GatheredRows one(kernel.rows, {sample});
  S out;
  typename KernelTiles<S>::Scratch scratch;
  KernelTiles<S>(Context(1), kernel.formula, one.view()).evaluate(0, 1, 0, 1, &out, 1, scratch);
  return static_cast<double>(out);
}

template class KernelRows<double>;
template class KernelRows<float>;

}  // namespace grls
