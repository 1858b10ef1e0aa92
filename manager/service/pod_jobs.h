// The jobs of pods over a Service: a JobDesk for as long as the Cluster's lock is held.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "manager/pods/job_desk.h"
#include "manager/service/service.h"
#include "manager/service/switch_state.h"

namespace tributary::manager {

class PodJobs final : public JobDesk {
 public:
  PodJobs(Service& service, const std::map<std::string, SwitchState>& switches, Instant now)
      : service_(service), switches_(switches), now_(now) {}

  Answer admit(const std::string& group, const JobRequest& request) override;
  [[nodiscard]] std::string address_of(const std::string& worker) const override;
  [[nodiscard]] State state_of(const std::string& job, std::uint32_t id) const override;
  [[nodiscard]] std::map<std::string, std::string> owners() const override;
  // Throws StoreError.
  void end(const std::string& job, const std::string& reason) override;

  // One commit with what admit() has decided; as Service's.
  std::vector<std::uint64_t> keep_with(Writer& writer, std::span<const Write> writes);
  // Those that are in the store.
  [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }

 private:
  Service& service_;
  const std::map<std::string, SwitchState>& switches_;
  const Instant now_;
  std::vector<Decision> admitted_;  // not kept yet
  std::vector<Decision> decisions_;
};

}  // namespace tributary::manager
