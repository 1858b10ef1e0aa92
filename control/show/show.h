// Answers `show`: tables of the running switch as lists of flat JSON objects. Holds the
// configuration meanwhile; the rows of each subject are in show_SUBJECT.h.
//
// Counters are read where they stand. The state of engines and FDB is read on the packet loops'
// lcores, through their mailboxes, so an answer about a job is consistent, and costs its loop short
// requests; large tables are read piece by piece, and packets go on in between. Every lcore has a
// copy of the FDB; that of lcore 0 is shown. A loop that is late for a change of the configuration
// is left out, with a note (control/text/late_loops.h).
#pragma once

#include <string>

#include "control/text/show_answer.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

class Show {
 public:
  explicit Show(dataplane::Switch& sw) : switch_(sw) {}

  // `what` is one of tables(). Throws std::invalid_argument for anything else, and
  // std::runtime_error when the packet loop does not answer.
  [[nodiscard]] ShowAnswer answer(const std::string& what);
  [[nodiscard]] nlohmann::ordered_json table(const std::string& what) { return answer(what).data; }
  // "ports, jobs, ..."
  static std::string tables();

 private:
  ShowAnswer answer_about(const std::string& what);

  dataplane::Switch& switch_;
};

}  // namespace tributary::control
