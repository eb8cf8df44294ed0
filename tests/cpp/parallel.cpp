// Teams of workers: every task once, an order that lets tasks wait for earlier ones, errors and cancellation.
#include "base/parallel.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <thread>

#include "check.hpp"
#include "matrices/blocks.hpp"

using grls::Context;
using grls::Index;
using grls::parallel_for;
using grls::Worker;

namespace {

// After how many more requests of this thread for memory one is refused; negative: never.
thread_local int refused_after = -1;

}  // namespace

void* operator new(std::size_t size) {
  if (refused_after >= 0 && refused_after-- == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST(parallel, every_task_runs_once) {
  for (const int workers : {1, 2, 7})
    for (const Index n : {0, 1, 3, 1000}) {
      const Context context(workers);
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(n));
      std::atomic<bool> known{true};
      parallel_for(context, n, workers, [&](Index i, const Worker& worker) {
        ++runs[static_cast<std::size_t>(i)];
        if (worker.id() < 0 || worker.id() >= workers) known = false;
      });
      bool once = true;
      for (const auto& count : runs) once = once && count == 1;
      CHECK(once && known);
    }
}

TEST(parallel, a_task_may_wait_for_the_one_before) {
  for (const int workers : {1, 2, 7}) {
    const Context context(workers);
    std::atomic<Index> done{0};
    std::atomic<bool> in_order{true};
    parallel_for(context, 500, workers, [&](Index i, const Worker& worker) {
      if (!worker.wait_until([&] { return done == i; })) in_order = false;
      done = i + 1;
    });
    CHECK(in_order && done == 500);
  }
}

TEST(parallel, the_first_error_stops_the_team_and_is_thrown_again) {
  for (const int workers : {1, 2, 7}) {
    const Context context(workers);
    std::atomic<Index> begun{0};
    const auto run = [&] {
      parallel_for(context, 100000, workers, [&](Index i, const Worker&) {
        ++begun;
        if (i == 20) throw std::domain_error("task 20");
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      });
    };
    CHECK(check::throws<std::domain_error>(run, "task 20"));
    CHECK(begun > 20 && begun < 50000);
  }
}

TEST(parallel, who_waits_for_a_task_that_failed_is_released) {
  const Context context(3);
  std::atomic<int> released{0};
  const auto run = [&] {
    parallel_for(context, 3, 3, [&](Index i, const Worker& worker) {
      if (i == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        throw std::domain_error("task 0");
      }
      if (!worker.wait_until([] { return false; })) ++released;
    });
  };
  CHECK(check::throws<std::domain_error>(run, "task 0"));
  CHECK(released <= 2);  // all that had begun
}

TEST(parallel, the_calling_thread_is_asked_whether_to_go_on) {
  for (const int workers : {1, 3}) {
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> asked_elsewhere{false};
    int asked = 0;
    const Context context(workers, [&] {
      if (std::this_thread::get_id() != caller) asked_elsewhere = true;
      if (++asked == 2) throw std::underflow_error("interrupted");
    });
    const auto run = [&] {
      parallel_for(context, 1000000, workers,
                   [](Index, const Worker&) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    };
    CHECK(check::throws<std::underflow_error>(run, "interrupted"));
    CHECK(asked == 2 && !asked_elsewhere);
  }
}

TEST(parallel, a_team_that_memory_is_refused_to_is_smaller_or_none) {
  constexpr Index n = 50;
  const Context context(7);
  bool refused = false, went_on = false;
  for (int request = 0; request < 20; ++request) {
    std::atomic<Index> runs{0};
    const grls::Task task = [&](Index, const Worker&) { ++runs; };
    refused_after = request;
    try {
      parallel_for(context, n, 7, task);
      went_on = went_on || refused_after < 0;
      CHECK(runs == n);
    } catch (const std::bad_alloc&) {
      refused = true;
      CHECK(runs == 0);
    }
    refused_after = -1;
  }
  CHECK(refused && went_on);
}

TEST(parallel, sums_over_rows_do_not_depend_on_the_threads) {
  std::mt19937 bits(0);
  std::normal_distribution<double> normal;
  const auto random = [&] { return normal(bits); };
  const grls::RowBlock X = grls::RowBlock::NullaryExpr(300001, 2, random);
  const grls::PerColumn alone = grls::dot(Context(1), X, X);
  for (const int threads : {2, 3, 8}) CHECK((grls::dot(Context(threads), X, X) == alone).all());
  const grls::Matrix<double> other = X;  // the other order of storage
  CHECK(((grls::dot(Context(2), other, other) - alone).abs() < 1e-9 * alone).all());
}
