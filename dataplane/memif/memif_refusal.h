// Why a memif client is turned away, or its connection ended: words that the client can show.
#pragma once

#include <stdexcept>

namespace tributary::dataplane {

class MemifRefusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tributary::dataplane
