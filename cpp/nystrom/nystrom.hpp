// Nyström least squares as a sum over rows: nothing is kept of a row but what it adds to one small matrix
// (docs/math.md, section "Nyström").
//
//   z_1 … z_r      centres that carry a function each; z_{r+1} … z_{r+q} the pivots, as many as the features
//                  have rank at the centres (q)
//   E (r, q)       φ' of the pivots at the other centres, so that N = [I ; -Eᵀ] spans {a : T_zᵀa = 0}
//   L (r, r)       NᵀΦ_zzN = L Lᵀ: the kernel H of G-RLS eq. (11) at the centres
//   b(x) (r)       L⁻¹ (k(z_{1…r}, x) - E k(z_{r+1…r+q}, x)): orthonormal functions for the penalty cᵀΦc
//   A (n, p)       rows [b(x_i) t_i y_i], p = r + l + k; the sums are AᵀWA (p, p)
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <variant>

#include "base/parallel.hpp"
#include "kernels/kernels.hpp"

namespace grls {

struct Whitening {
  Matrix<double> E;  // (r, q)
  Matrix<double> L;  // (r, r) lower triangular

  Index rank() const { return L.rows(); }
  Index centres() const { return L.rows() + E.cols(); }
};

// The memory of finding it for M centres: their kernel matrix, what the features leave of it, and the factor,
// which is rearranged once.
double centres_bytes(Index M);

// What `symmetric_kernel_times` keeps of m rows and k columns of coefficients: its partial sums.
double symmetric_sums_bytes(Index m, Index k);

struct KernelAtCentres {  // evaluated here
  const Formula& formula;
  const Rows& rows;     // (n, d)
  const Rows& centres;  // (r + q, d)
};
struct GivenKernelValues {  // (n, r + q) row-major: of kernels that only Python can evaluate
  const double* data;
  Index n, columns;
};
using KernelValues = std::variant<KernelAtCentres, GivenKernelValues>;

// AᵀWA (p, p), both triangles; weights (n) or empty. S is the precision of the rows and of products of up to
// 1024 of them; sums of these are in double precision always. The same whatever the number of threads.
template <class S>
Matrix<double> row_sums(const Context& context, const Whitening& whitening, const KernelValues& kernel,
                        const Matrix<double>& T, const Matrix<double>& Y, const Vector<double>& weights);

// The rows b(x_i) themselves, (n, r) row-major.
void whitened_rows(const Context& context, const Whitening& whitening, const KernelValues& kernel,
                   double* out);

// A number that depends on the contents of a row alone, dense or sparse, and on the seed.
std::vector<std::uint64_t> row_keys(const Context& context, const Rows& rows, std::uint64_t seed);

// Values of Z = k(rows, centres) that are kept from one product to the next: those of the strips of rows that
// come first, as far as `bytes` go. The others are evaluated again every time, to the same values.
template <class S>
class KernelStore {
 public:
  struct Strip {
    std::vector<S> values;  // (rows, columns); empty where there was no room
    Index rows = 0, columns = 0;
    bool filled = false;
  };

  explicit KernelStore(double bytes) : left_(bytes) {}

  // A strip of a block, the same for every product. Not to be called by several threads at a time.
  Strip& strip(Index block, Index number, Index rows, Index columns);

 private:
  std::map<Index, std::deque<Strip>> blocks_;  // strips stay where they are when more come
  double left_;
};

// ZᵀW(Za + B) (M, k) for one block of rows: a (M, k) or empty, B (n, k) or empty. Values of Z have the
// precision S of the store, and are multiplied in precision A. Blocks are numbered from 0 on, and each is to
// have the same rows every time.
template <class A, class S>
Matrix<double> normal_times(const Context& context, const Formula& formula, const Rows& rows,
                            const Rows& centres, const Vector<double>& weights, const Matrix<double>& a,
                            const Matrix<double>& B, KernelStore<S>& store, Index block);

// k(rows, rows) c, (m, k), each tile evaluated once for both triangles and never stored.
template <class S>
Matrix<S> symmetric_kernel_times(const Context& context, const Formula& formula, const Rows& rows,
                                 const Matrix<S>& c);

}  // namespace grls
