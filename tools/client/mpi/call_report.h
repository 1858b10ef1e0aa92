// The standard error of a launcher, from which the library's counts of calls are taken.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "worker/mpi/call_counts.h"

namespace tributary::client {

// Passes everything on, as it comes, but the lines about counts.
class CallReport {
 public:
  explicit CallReport(std::function<void(std::string_view)> pass_on);

  void take(std::string_view bytes);
  // At the end: passes on what is left.
  void finish();

  // True if MPI_Init of a program has reached the library.
  [[nodiscard]] bool reached() const { return reached_; }
  // True if MPI_Finalize has, too.
  [[nodiscard]] bool counted() const { return counted_; }
  // A line for each collective, and one where no call went through the switch.
  [[nodiscard]] std::string summary() const;

 private:
  void end_line();

  std::function<void(std::string_view)> pass_on_;
  std::string line_;        // the last one, which has no end yet
  std::size_t passed_ = 0;  // bytes of it that have been passed on
  bool reached_ = false;
  bool counted_ = false;
  mpi::CallCounts counts_;  // of all programs; ranks: the most
};

}  // namespace tributary::client
