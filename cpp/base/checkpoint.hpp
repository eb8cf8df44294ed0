// Where a long task looks whether to go on.
#pragma once

#include <stdexcept>

#include "base/parallel.hpp"

namespace grls {

// `pass` throws where the team has been stopped: the team knows by then the error that the caller will see.
class Checkpoint {
 public:
  Checkpoint() = default;  // nobody stops it
  Checkpoint(const Context& context, const Worker& worker) : context_(&context), worker_(&worker) {}

  void pass() const {
    if (!worker_) return;
    if (worker_->stopped()) throw std::runtime_error("stopped");
    if (worker_->id() == 0) context_->poll();
  }

 private:
  const Context* context_ = nullptr;
  const Worker* worker_ = nullptr;
};

}  // namespace grls
