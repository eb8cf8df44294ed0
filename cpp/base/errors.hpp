// The errors of the core. The bindings map each to the Python exception a user expects.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace grls {

// A shape, an index or a value that cannot be right. Becomes ValueError.
struct InvalidArgument : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The matrix to factorise is not (numerically) positive definite. Becomes NotPositiveDefiniteError.
struct NotPositiveDefinite : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws InvalidArgument with the streamed message unless `ok`.
template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (ok) return;
  std::ostringstream message;
  (message << ... << parts);
  throw InvalidArgument(message.str());
}

// Throws InvalidArgument unless there can be so many of something.
template <class Integer>
void require_count(Integer count, const char* of) {
  require(count >= 0, "the number of ", of, " must not be negative, got ", count);
}

}  // namespace grls
