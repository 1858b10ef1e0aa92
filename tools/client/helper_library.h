// A library that a command loads when it is run, because it links much that others do without. Its
// functions take and return JSON.
#pragma once

#include <string>

#include "tools/client/control/table.h"

namespace tributary::client {

// The answer of a library that does not do what it is asked.
struct HelperFailure {
  std::string code;
  std::string error;
};

class HelperLibrary {
 public:
  struct Names {
    const char* file;      // its SONAME
    const char* release;   // the function that frees what the others return
    const char* commands;  // what needs it, for a person who reads that it is not there
    const char* option;    // of builds that have it
  };

  // Throws std::runtime_error that says how to get it.
  explicit HelperLibrary(const Names& names);

  // The reply of `function`. Throws std::invalid_argument for a request that makes no sense,
  // std::runtime_error for what failed or a library of another version, and HelperFailure with any
  // other code.
  [[nodiscard]] Json ask(const char* function, const Json& request) const;

 private:
  [[nodiscard]] void* symbol(const char* name) const;

  Names names_;
  void* library_;
};

}  // namespace tributary::client
