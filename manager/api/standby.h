// The answer of a manager that does not lead to every call: UNAVAILABLE, and who leads. A client
// that knows several managers then asks the next one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "manager/api/listen.h"

namespace tributary::manager {

// The details of such an answer: nothing was done.
inline constexpr const char* kNotLeading = "not leading";

class Standby {
 public:
  // `why`: the answer's text; any thread's to call. Answers until it is destroyed. Throws as
  // Listening does.
  Standby(const ListenOptions& options, std::function<std::string()> why);
  ~Standby();
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;

  [[nodiscard]] int port() const;  // of the address; 0: none

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace tributary::manager
