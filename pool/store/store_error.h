// Errors of stores: what failed, and whether another try may succeed.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tributary::pool {

enum class StoreFault : std::uint8_t {
  not_found,    // 404, no such file
  denied,       // 403, 401, no rights
  changed,      // another size or version than the manifest's
  refused,      // an answer that stays the same: other 4xx, endless redirects
  unavailable,  // 5xx, 429, no connection
  timeout,      // no byte for too long
  incomplete,   // fewer bytes than announced, or than asked for
};
const char* name_of(StoreFault fault);

class StoreError : public std::runtime_error {
 public:
  StoreError(StoreFault fault, const std::string& text) : std::runtime_error(text), fault_(fault) {}
  [[nodiscard]] StoreFault fault() const { return fault_; }
  // True if another try may succeed.
  [[nodiscard]] bool passing() const { return fault_ >= StoreFault::unavailable; }

 private:
  StoreFault fault_;
};

}  // namespace tributary::pool
