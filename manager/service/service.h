// The manager without its shell: admission over a store. What it decides is in the store before
// anyone is told, so a manager that is killed at any instant is followed by one that knows as much.
//
//   submit, cancel, advance ─▶ admission ─▶ commit ─▶ documents for the switches
//                                              └─ fails: back to what the store has; the caller
//                                                 gets the StoreError, and nothing has changed
//
// One thread. Time is the caller's; leases start anew with each manager.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/topology/assigned.h"
#include "manager/admission/admission.h"
#include "manager/store/store.h"

namespace tributary::manager {

class Service {
 public:
  struct Setup {
    std::vector<Tenant> tenants;
    Admission::Limits limits;
    config::Topology topology;  // without jobs
  };
  // Takes over what an earlier manager left in the store. Throws StoreError, and std::runtime_error
  // for entries that are damaged.
  Service(Store& store, Setup setup, Instant now);

  // Each throws StoreError. `text` is a request's (job_request.h), or throws config::ConfigErrors.
  Decision submit(std::string_view text, const std::string& file_name, Instant now);
  std::optional<Decision> cancel(const std::string& name, Instant now, const std::string& reason);
  std::vector<Decision> advance(Instant now);
  // A switch has refused the document: the job that no running switch has yet waits again, and the
  // switch's room is what it has in use without it.
  void switch_refused(const std::string& node, const std::string& job, Instant now,
                      const std::string& reason);
  bool renew(const std::string& name, Instant now);

  // Of the documents: grows whenever the running jobs change.
  [[nodiscard]] config::Version version() const;
  // What this switch is to do. Throws std::invalid_argument when there is no such switch.
  [[nodiscard]] std::string document(const std::string& node) const;
  [[nodiscard]] const Admission& admission() const { return admission_; }

 private:
  using Values = std::map<std::string, std::string>;

  [[nodiscard]] Admission fresh() const;
  void load(Instant now);
  void load_job(const Entry& entry, Instant now, Admission& into) const;
  [[nodiscard]] Values values() const;
  [[nodiscard]] std::vector<Write> differences(const Values& wanted) const;
  void keep(Instant now);
  void commit(const std::vector<Write>& writes);

  Store& store_;
  Writer writer_;
  Setup setup_;
  Admission admission_;
  std::uint64_t revision_ = 1;
  bool stale_ = false;                   // the store could not be read after a failed commit
  std::map<std::string, Entry> stored_;  // as the store has it
};

}  // namespace tributary::manager
