#include "base/parallel.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace grls {
namespace {

constexpr int kMostThreads = 1024;  // each has scratch memory of its own

#ifdef GRLS_BREAK_RACE
int unguarded = 0;  // a fault on purpose: see GRLS_BREAK in CMakeLists.txt
#endif

}  // namespace

Context::Context(int threads, std::function<void()> check)
    : threads_(std::min(threads > 0 ? threads : blas::threads(), kMostThreads)),
      check_(std::move(check)),
      last_poll_(std::chrono::steady_clock::now()) {}

void Context::poll() const {
  if (!check_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_poll_ < std::chrono::milliseconds(20)) return;
  last_poll_ = now;
  check_();
}

void Worker::yield() { std::this_thread::yield(); }

int workers_for(const Context& context, double work) {
  constexpr double kWorkPerThread = 2e5;  // starting a thread costs about as much
  const double useful = std::max(1.0, work / kWorkPerThread);
  return useful < context.threads() ? static_cast<int>(useful) : context.threads();
}

void parallel_for(const Context& context, Index n, int workers, const Task& task) {
  std::atomic<Index> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr error;
  std::mutex error_mutex;

#ifdef GRLS_BREAK_WRITE
  std::vector<char> room(8);
  room.data()[8 + (n < 0)] = 1;
#endif

  const auto run = [&](int id) {
    const Worker worker(id, stop);
#ifdef GRLS_BREAK_RACE
    ++unguarded;
#endif
    try {
      while (!worker.stopped()) {
        const Index i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= n) return;
        task(i, worker);
        if (id == 0) context.poll();
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
      stop = true;
    }
  };

  const int extra = static_cast<int>(std::min<Index>(workers, n)) - 1;
  std::vector<std::thread> team;
  team.reserve(std::max(extra, 0));
  try {
    for (int id = 1; id <= extra; ++id) team.emplace_back(run, id);
  } catch (const std::system_error&) {
    // The system refuses another thread: those that started share the work.
  } catch (const std::bad_alloc&) {
    // So does the memory: nothing may be thrown past threads that were not joined.
  }
  run(0);
  for (std::thread& thread : team) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace grls
