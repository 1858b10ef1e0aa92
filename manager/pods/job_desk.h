// The jobs of a cluster as the placing of pods sees them. A PodGroup with a job gets it together
// with its pods' places, and it ends with them.
//
//   pods have places ──admit──▶ starting ──every switch has it──▶ running ──pods end──▶ end
//                      └─ no room: the pods have no places either
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "manager/admission/job_request.h"
#include "manager/pods/pod.h"

namespace tributary::manager {

// A pod's part in a job: its first container is a rank.
struct Seat {
  std::string job = {};
  std::uint32_t id = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::uint32_t local_rank = 0;  // among the pods of the job on its node
  std::uint32_t local_size = 0;
  std::string port = {};     // worker of the topology whose port it leases
  std::string address = {};  // where the rank joins, as its node sees it
  bool started = false;      // every switch had the job: its container may run

  bool operator==(const Seat&) const = default;
};

class JobDesk {
 public:
  virtual ~JobDesk() = default;

  struct Answer {
    std::uint32_t id = 0;              // 0: no
    std::string shortage = {};         // why not, with figures
    std::set<std::string> ports = {};  // workers that the job cannot have now
  };
  // With the members that the request names. In memory: it is kept together with the pods.
  virtual Answer admit(const std::string& group, const JobRequest& request) = 0;
  [[nodiscard]] virtual std::string address_of(const std::string& worker) const = 0;

  enum class State : std::uint8_t { gone, starting, running };
  [[nodiscard]] virtual State state_of(const std::string& job, std::uint32_t id) const = 0;
  // Groups by the names of their jobs.
  [[nodiscard]] virtual std::map<std::string, std::string> owners() const = 0;
  // Idempotent.
  virtual void end(const std::string& job, const std::string& reason) = 0;
};

// The request of a group's job; its name is empty where the group has none. Throws
// config::ConfigErrors.
JobRequest job_request_of(const PodGroup& group);
bool has_job(const PodGroup& group);

}  // namespace tributary::manager
