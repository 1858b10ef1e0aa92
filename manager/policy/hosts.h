// The completion hosts that the manager ranks (T11), for jobs with `policy: manager` whose
// `host_choice` is least_load or two_stage.
//
//   bytes per second at each switch ─▶ judge(): one host, or a shortlist ─▶ the job's root
//                                                      └─▶ Ranked, for the log of decisions
//
// least_load: the host whose switch moves the least. two_stage: those that move hardly more than
// that; the root picks one of them. So that jobs do not go to and fro, another choice has to be
// better by a quarter and a mebibyte per second, in all looks of ten seconds; a host whose switch
// has no agent is left out at once. Ties go to the first in the job's list. Where a host serves
// already when the first look comes, as after a manager's change, it counts as chosen.
//
// Time is the caller's; no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "manager/admission/admission.h"

namespace tributary::manager {

// A shard of a job, as `show hosts` of the job's root has it.
struct HostSeat {
  std::uint32_t job = 0;  // its id
  std::uint32_t shard = 0;
  std::string host = {};
  std::string state = {};   // "idle", "asking", "serving", "here", "vacant"
  std::string chosen = {};  // "policy", "requested", "gone", "restarted", "refused"

  bool operator==(const HostSeat&) const = default;
};

// As `place-host` has it.
struct HostOrder {
  std::map<std::string, std::uint32_t> loads = {};  // KiB per second, of the hosts that live
  std::vector<std::string> candidates = {};

  bool operator==(const HostOrder&) const = default;
};
using HostOrders = std::map<std::uint32_t, HostOrder>;  // by the job's id

class HostRanking {
 public:
  static constexpr Duration kSettle = Duration::seconds(10);

  struct Look {
    std::map<std::string, std::uint64_t> loads;  // bytes per second, by switch that is there
    std::vector<HostSeat> seats;
  };
  struct Ranked {
    std::string job;
    std::string tenant;
    std::uint32_t id = 0;
    std::string reason;  // "chunks go to B: A 5300 KiB/s, B 12 KiB/s"
  };
  // The decisions that this look brings.
  std::vector<Ranked> judge(const Admission& admission, const Look& look, Instant now);

  [[nodiscard]] const HostOrders& orders() const { return orders_; }
  // The reason of the latest decision about the job; empty: there is none.
  [[nodiscard]] std::string reason(std::uint32_t job) const;

 private:
  using Names = std::vector<std::string>;
  struct Choice {
    Names hosts;  // that the root is to prefer; empty: none is chosen yet
    Names next;   // that would be better
    Instant since;
    std::string reason;
  };

  std::optional<Ranked> judge(const Job& job, const Look& look, Instant now);
  void forget_all_but(const Admission& admission);

  std::map<std::uint32_t, Choice> choices_;  // by the job's id
  HostOrders orders_;
};

}  // namespace tributary::manager
