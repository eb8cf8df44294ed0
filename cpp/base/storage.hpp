// Where Eigen's matrices of any size keep their numbers, safe where memory ends.
//
// Eigen 3.4 gives the old numbers back before it asks for new ones and, where there are none, leaves the
// pointer to the old ones, which the destructor gives back a second time. These specialisations of its class
// forget them first. Elsewhere they are what Eigen has; later versions of it are left alone.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <utility>

#if !EIGEN_VERSION_AT_LEAST(3, 4, 90)

namespace grls::storage {

// Rows and Cols: as many, or any (Dynamic).
template <class T, int Rows, int Cols>
class Storage {
 public:
  using Index = Eigen::Index;

  Storage() = default;
  explicit Storage(Eigen::internal::constructor_without_unaligned_array_assert) {}
  Storage(Index size, Index rows, Index cols) : data_(made(size)), rows_(rows), cols_(cols) {}
  Storage(const Storage& other) : Storage(other.size(), other.rows_, other.cols_) {
    Eigen::internal::smart_copy(other.data_, other.data_ + other.size(), data_);
  }
  Storage(Storage&& other) noexcept { swap(other); }
  Storage& operator=(Storage other) noexcept {
    swap(other);
    return *this;
  }
  ~Storage() { free(); }

  void swap(Storage& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(rows_, other.rows_);
    std::swap(cols_, other.cols_);
  }

  Index rows() const noexcept { return Rows == Eigen::Dynamic ? rows_ : Rows; }
  Index cols() const noexcept { return Cols == Eigen::Dynamic ? cols_ : Cols; }
  const T* data() const { return data_; }
  T* data() { return data_; }

  void resize(Index size, Index rows, Index cols) {
    if (size != this->size()) {
      free();  // before the new ones are there: twice the memory would be too much
      data_ = nullptr;
      rows_ = Rows == Eigen::Dynamic ? 0 : Rows;
      cols_ = Cols == Eigen::Dynamic ? 0 : Cols;
      data_ = made(size);
    }
    rows_ = rows;
    cols_ = cols;
  }

  void conservativeResize(Index size, Index rows, Index cols) {
    data_ = Eigen::internal::conditional_aligned_realloc_new_auto<T, true>(
        data_, static_cast<std::size_t>(size), static_cast<std::size_t>(this->size()));
    rows_ = rows;
    cols_ = cols;
  }

 private:
  T* data_ = nullptr;
  Index rows_ = Rows == Eigen::Dynamic ? 0 : Rows, cols_ = Cols == Eigen::Dynamic ? 0 : Cols;

  // Nothing where there is no memory: a vector of any length has one column, and no numbers yet.
  Index size() const { return data_ ? rows_ * cols_ : 0; }
  static T* made(Index size) {
    return size > 0 ? Eigen::internal::conditional_aligned_new_auto<T, true>(static_cast<std::size_t>(size))
                    : nullptr;
  }
  void free() {
    Eigen::internal::conditional_aligned_delete_auto<T, true>(data_, static_cast<std::size_t>(size()));
  }
};

}  // namespace grls::storage

namespace Eigen {

#define GRLS_STORAGE(rows, cols, options)                                                              \
  template <class T>                                                                                   \
  class DenseStorage<T, Dynamic, rows, cols, options> : public grls::storage::Storage<T, rows, cols> { \
   public:                                                                                             \
    using grls::storage::Storage<T, rows, cols>::Storage;                                              \
  };
GRLS_STORAGE(Dynamic, Dynamic, ColMajor)
GRLS_STORAGE(Dynamic, Dynamic, RowMajor)
GRLS_STORAGE(Dynamic, 1, ColMajor)
GRLS_STORAGE(1, Dynamic, RowMajor)
#undef GRLS_STORAGE

}  // namespace Eigen

#endif
