// A tributary_pool of the C interface, and the way from exceptions to its statuses.
#pragma once

#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "pool/api/tributary_pool.h"
#include "pool/loader/async_loader.h"
#include "pool/loader/epoch_loader.h"
#include "pool/loader/loader.h"

struct tributary_pool {
  explicit tributary_pool(const char* config_path)
      : loader(tributary::pool::load_pool_config(config_path)), async(loader) {}
  tributary::pool::Loader loader;
  tributary::pool::AsyncLoader async;  // after the loader, which it uses
  std::mutex epochs_mutex;             // of the next
  std::optional<tributary::pool::EpochLoader> epochs;
};

namespace tributary::pool {

struct Problem {
  tributary_pool_status status;
  std::string text;
};
Problem problem_of(const std::exception_ptr& thrown);
// Takes the exception that is handled as the calling thread's last error.
tributary_pool_status keep_problem() noexcept;

template <typename Function>
tributary_pool_status guard(Function&& function) noexcept {
  try {
    function();
    return TRIBUTARY_POOL_OK;
  } catch (...) {
    return keep_problem();
  }
}

inline void require(bool good, const char* text) {
  if (!good) throw std::invalid_argument(text);
}

}  // namespace tributary::pool
