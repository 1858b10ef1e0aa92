// Answers `show`: tables of the running switch as lists of flat JSON objects.
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
  nlohmann::ordered_json ports();
  nlohmann::ordered_json buffers();
  nlohmann::ordered_json jobs();
  nlohmann::ordered_json members();
  nlohmann::ordered_json tree();
  nlohmann::ordered_json slots();
  nlohmann::ordered_json completion();
  nlohmann::ordered_json escalated();
  nlohmann::ordered_json op(const std::string& name);
  nlohmann::ordered_json stragglers(const std::string& job);
  nlohmann::ordered_json ops(const std::string& job);
  nlohmann::ordered_json holds();
  nlohmann::ordered_json holds_of(const std::string& job);
  nlohmann::ordered_json hosts();
  nlohmann::ordered_json seats();
  nlohmann::ordered_json drops();
  nlohmann::ordered_json stages();
  nlohmann::ordered_json stages_of(const std::string& lcore);
  nlohmann::ordered_json lcores();
  nlohmann::ordered_json rxq();
  nlohmann::ordered_json fragments();
  nlohmann::ordered_json handover();
  nlohmann::ordered_json fdb(const std::string& which);
  nlohmann::ordered_json vlans();
  nlohmann::ordered_json acl();
  nlohmann::ordered_json groups();
  nlohmann::ordered_json lldp();
  nlohmann::ordered_json routes();
  nlohmann::ordered_json neighbours();
  nlohmann::ordered_json qps();
  nlohmann::ordered_json names();
  nlohmann::ordered_json telemetry(const std::string& which);
  nlohmann::ordered_json telemetry_ports();
  nlohmann::ordered_json config();

  dataplane::Switch& switch_;
};

}  // namespace tributary::control
