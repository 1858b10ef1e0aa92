// Named data (C4): a name has one value, which gets return, and calls fail only for a cause.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "sim/rules/checked_run.h"
#include "sim/rules/failure_checker.h"

namespace tributary::sim {

class NameChecker {
 public:
  NameChecker(CheckedRun& run, const FailureChecker& failures) : run_(run), failures_(failures) {}

  void called(const WorkerNode& node, const NamedCall& named);
  void ended(const WorkerNode& node, const NamedCall& named);

 private:
  [[nodiscard]] bool must_succeed(const WorkerNode& node, const NamedCall& named) const;

  CheckedRun& run_;
  const FailureChecker& failures_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> values_put_;  // by job index and op
  std::set<const worker::NameCall*> asked_known_;  // gets of values that had been put
};

}  // namespace tributary::sim
