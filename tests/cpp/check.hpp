// As much of a test framework as these tests need. TEST(group, name) { … } with CHECK inside; the program
// runs the groups it is given, or all.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace check {

struct Test {
  std::string group, name;
  void (*run)();
};

bool add(Test test);

// Counts a check, and reports it where it fails.
void that(bool ok, const char* what, const char* file, int line, const std::string& where = "");

// Whether `run` throws an Exception; its message is to contain `words`.
template <class Exception, class Run>
bool throws(const Run& run, const std::string& words = "") {
  try {
    run();
  } catch (const Exception& error) {
    return std::string(error.what()).find(words) != std::string::npos;
  } catch (...) {
  }
  return false;
}

}  // namespace check

#define TEST(group, name)                                              \
  static void name();                                                  \
  static const bool name##_added = check::add({#group, #name, &name}); \
  static void name()
#define CHECK(condition) check::that((condition), #condition, __FILE__, __LINE__)
// With something that says which case it is.
#define CHECK_IN(where, condition) check::that((condition), #condition, __FILE__, __LINE__, where)
