#include "data/coordinates.hpp"

#include <cmath>
#include <numeric>

#include "base/errors.hpp"

namespace grls {
namespace {

// Sine and cosine of an angle in degrees, exact where they are 0 or ±1: a pole is one point whatever its
// longitude, and -180 and 180 degrees are the same meridian.
double sine_of_degrees(double x) {
  double r = std::remainder(x, 360.0);
  if (r > 90) r = 180 - r;
  if (r < -90) r = -180 - r;
  return std::sin(r * (EIGEN_PI / 180));
}

double cosine_of_degrees(double x) {
  return std::sin((90 - std::abs(std::remainder(x, 360.0))) * (EIGEN_PI / 180));
}

// Element (i, c) of dense rows.
double element(const Rows& rows, Index i, Index c) {
  return std::visit(
      [&](const auto& r) -> double {
        if constexpr (std::is_same_v<std::decay_t<decltype(r)>, CsrRows>) {
          throw InvalidArgument("coordinates are those of dense rows");
        } else {
          return static_cast<double>(r.data[i * r.d + c]);
        }
      },
      rows);
}

}  // namespace

IndexList columns_read(const ColumnGroup& group, Index d) {
  if (!group.columns.empty()) return group.columns;
  IndexList all(static_cast<std::size_t>(d));
  std::iota(all.begin(), all.end(), Index(0));
  return all;
}

double width(const ColumnGroup& group, Index c) {
  return group.widths.empty() ? 1.0 : group.widths[static_cast<std::size_t>(c)];
}

void check_width(double width, const char* what) {
  require(width > 0, "kernel ", what, " must be positive, got ", width);
  require(width >= 1e-150 && width <= 1e150, "kernel ", what, " must lie between 1e-150 and 1e150, got ",
          width, ": measure the columns in another unit");
}

Wound::Wound(double x, double period) {
  const double turns = x / period, angle = 2 * EIGEN_PI * (turns - std::round(turns));
  cosine = -2 * std::sin(angle / 2) * std::sin(angle / 2);
  sine = std::sin(angle);
}

void apply_map(const ColumnGroup& group, const double* x, Index row, double* to) {
  if (group.radius != 0) {
    require(
        std::abs(x[0]) <= 90,
        "columns on a sphere are latitude and longitude in degrees, and a latitude lies between -90 and 90; "
        "found ",
        x[0], " in row ", row);
    // Moved so that (0, 0) is the origin: distances stay, and a sparse row may stay sparse.
    const double half = std::sin(x[0] * (EIGEN_PI / 360)), sine = sine_of_degrees(x[1] / 2);
    const double cosine = cosine_of_degrees(x[0]);
    // cos(lat) cos(lon) - 1 = -2 sin²(lat/2) - 2 cos(lat) sin²(lon/2)
    to[0] = group.radius * -2 * (half * half + cosine * sine * sine);
    to[1] = group.radius * cosine * sine_of_degrees(x[1]);
    to[2] = group.radius * sine_of_degrees(x[0]);
    return;
  }
  const auto d = static_cast<Index>(std::sqrt(static_cast<double>(group.map.size())) + 0.5);
  for (Index k = 0; k < d; ++k) {
    to[k] = 0;
    for (Index c = 0; c < d; ++c) to[k] += group.map[static_cast<std::size_t>(k * d + c)] * x[c];
  }
}

Matrix<double> coordinates(const Rows& rows, const ColumnGroup& group, const std::vector<double>& centre) {
  const Index n = row_count(rows), d = column_count(rows);
  group.check(d);
  const IndexList columns = columns_read(group, d);
  const auto read = static_cast<Index>(columns.size());
  const bool stays = centre.empty() || !group.periods.empty() || group.radius != 0;
  require(stays || static_cast<Index>(centre.size()) == read, "a centre of ", centre.size(), " columns for ",
          read);
  Matrix<double> P(n, group.dimension(d));
  Vector<double> x(read), mapped(P.cols());
  for (Index i = 0; i < n; ++i) {
    for (Index c = 0; c < read; ++c) {
      x[c] = element(rows, i, columns[static_cast<std::size_t>(c)]);
      if (!stays) x[c] -= centre[static_cast<std::size_t>(c)];
    }
    if (group.is_mapped()) {
      apply_map(group, x.data(), i, mapped.data());
      P.row(i) = mapped.transpose();
      continue;
    }
    for (Index c = 0; c < read; ++c) {
      if (group.periods.empty()) {
        P(i, c) = x[c] / width(group, c);
        continue;
      }
      const Wound wound(x[c], group.periods[static_cast<std::size_t>(c)]);
      P(i, 2 * c) = wound.cosine / width(group, c);
      P(i, 2 * c + 1) = wound.sine / width(group, c);
    }
  }
  return P;
}

void add_by_columns(const Rows& rows, const ColumnGroup& group, const Matrix<double>& G, Index o, Index k,
                    double* out) {
  const Index n = row_count(rows), d = column_count(rows);
  group.check(d);
  require(G.rows() == n && G.cols() == group.dimension(d) && o >= 0 && o < k,
          "derivatives by coordinates have the wrong shape");
  const IndexList columns = columns_read(group, d);
  const auto read = static_cast<Index>(columns.size());
  const auto column = [&](Index c) { return columns[static_cast<std::size_t>(c)]; };
  for (Index i = 0; i < n; ++i) {
    const auto add = [&](Index c, double value) { out[(i * d + column(c)) * k + o] += value; };
    if (group.radius != 0) {
      const double lat = element(rows, i, column(0)), lon = element(rows, i, column(1));
      const double scale = group.radius * EIGEN_PI / 180;
      const double sine = sine_of_degrees(lat), cosine = cosine_of_degrees(lat);
      const double east = sine_of_degrees(lon), towards = cosine_of_degrees(lon);
      add(0, scale * (-sine * (towards * G(i, 0) + east * G(i, 1)) + cosine * G(i, 2)));
      add(1, scale * cosine * (towards * G(i, 1) - east * G(i, 0)));
      continue;
    }
    for (Index c = 0; c < read; ++c) {
      if (!group.map.empty()) {
        double sum = 0;
        for (Index p = 0; p < read; ++p) sum += group.map[static_cast<std::size_t>(p * read + c)] * G(i, p);
        add(c, sum);
      } else if (group.periods.empty()) {
        add(c, G(i, c) / width(group, c));
      } else {
        const double period = group.periods[static_cast<std::size_t>(c)];
        const Wound wound(element(rows, i, column(c)), period);
        add(c, ((1 + wound.cosine) * G(i, 2 * c + 1) - wound.sine * G(i, 2 * c)) * 2 * EIGEN_PI /
                   (period * width(group, c)));
      }
    }
  }
}

}  // namespace grls
