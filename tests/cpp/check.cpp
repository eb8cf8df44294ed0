#include "check.hpp"

#include <algorithm>
#include <iostream>

namespace check {
namespace {

std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

int checks = 0, failures = 0;

}  // namespace

bool add(Test test) {
  tests().push_back(std::move(test));
  return true;
}

void that(bool ok, const char* what, const char* file, int line, const std::string& where) {
  ++checks;
  if (ok) return;
  ++failures;
  std::cerr << file << ":" << line << ": not true: " << what << (where.empty() ? "" : " in ") << where
            << "\n";
}

}  // namespace check

int main(int count, char** arguments) {
  const std::vector<std::string> wanted(arguments + 1, arguments + count);
  int ran = 0;
  for (const check::Test& test : check::tests()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), test.group) == wanted.end()) continue;
    ++ran;
    const int before = check::failures;
    try {
      test.run();
    } catch (const std::exception& error) {
      ++check::failures;
      std::cerr << "unexpected exception: " << error.what() << "\n";
    }
    if (check::failures > before) std::cerr << "failed: " << test.group << ", " << test.name << "\n";
  }
  std::cout << ran << " tests, " << check::checks << " checks, " << check::failures << " failures\n";
  return ran == 0 || check::failures > 0 ? 1 : 0;
}
