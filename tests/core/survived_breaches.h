// While it lives, a broken invariant ends no process, in checked builds too; and how many there
// were.
#pragma once

#include "core/invariant.h"

namespace tributary {

class SurvivedBreaches {
 public:
  SurvivedBreaches() : fatal_(breaches_are_fatal()), before_(invariant_breaches()) {
    make_breaches_fatal(false);
  }
  SurvivedBreaches(const SurvivedBreaches&) = delete;
  SurvivedBreaches& operator=(const SurvivedBreaches&) = delete;
  ~SurvivedBreaches() { make_breaches_fatal(fatal_); }

  [[nodiscard]] std::uint64_t count() const { return invariant_breaches() - before_; }

 private:
  bool fatal_;
  std::uint64_t before_;
};

}  // namespace tributary
