// The coordinates that a group of kernel terms sees of a row: columns that are chosen, moved, divided by
// their widths, wound onto circles, mapped or put on a sphere; and the way back, from derivatives by the
// coordinates to derivatives by the columns.
#pragma once

#include "data/points.hpp"

namespace grls {

IndexList columns_read(const ColumnGroup& group, Index d);

double width(const ColumnGroup& group, Index c);

// Formulas divide by widths, their squares and periods: none may vanish or overflow.
void check_width(double width, const char* what = "widths");

// The point on the unit circle at the angle 2πx / period, moved so that x = 0 is the origin: distances stay,
// and a sparse row stays sparse.
struct Wound {
  double cosine, sine;

  Wound(double x, double period);
};

// x: the columns a group reads of a row; to: what it makes of them, as many numbers as its dimension.
void apply_map(const ColumnGroup& group, const double* x, Index row, double* to);

// P (n, dimension) of dense rows. centre: what columns are moved by, one number each, or empty; wound columns
// and places on a sphere are not moved.
Matrix<double> coordinates(const Rows& rows, const ColumnGroup& group, const std::vector<double>& centre);

// Adds Σ_p G_ip ∂P_ip/∂x_ic to out (n, d, k) row-major at output o, G (n, dimension) derivatives by P.
void add_by_columns(const Rows& rows, const ColumnGroup& group, const Matrix<double>& G, Index o, Index k,
                    double* out);

}  // namespace grls
