// Threads and interruption. Every parallel stage is a list of tasks claimed in order by a team of workers;
// BLAS runs single-threaded inside a task, so there is one pool at work and never two.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "base/blas.hpp"
#include "base/types.hpp"

namespace grls {

// How one call into the core may use the machine, and how it can be stopped.
class Context {
 public:
  // threads <= 0: as many as the BLAS library is set to use, so that threadpoolctl's limits are obeyed.
  // check: called now and then on the calling thread; it throws to stop the work.
  explicit Context(int threads = 0, std::function<void()> check = {});

  int threads() const { return threads_; }
  void poll() const;

 private:
  int threads_;
  std::function<void()> check_;
  mutable std::chrono::steady_clock::time_point last_poll_;
  blas::SingleThreaded single_threaded_;
};

// What a task sees of its team.
class Worker {
 public:
  Worker(int id, const std::atomic<bool>& stop) : id_(id), stop_(stop) {}
  int id() const { return id_; }
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  // Waits for an earlier task of the same list. False when the team has been stopped meanwhile.
  template <class Ready>
  bool wait_until(const Ready& ready) const {
    for (int spins = 0; !ready(); ++spins) {
      if (stopped()) return false;
      if (spins > 64) yield();
    }
    return true;
  }

 private:
  static void yield();
  int id_;
  const std::atomic<bool>& stop_;
};

using Task = std::function<void(Index task, const Worker& worker)>;

// Runs task(0), …, task(n - 1), claimed in that order by at most `workers` threads, the calling thread one of
// them. A task may wait for an earlier one of the list, never for a later one. The first exception stops the
// team and is thrown again here; `context.poll()` is called between the tasks of the calling thread.
void parallel_for(const Context& context, Index n, int workers, const Task& task);

// As many workers as pay off for about `work` elementary operations.
int workers_for(const Context& context, double work);

}  // namespace grls
