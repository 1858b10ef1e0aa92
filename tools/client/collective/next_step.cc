#include "tools/client/collective/next_step.h"

namespace tributary::client {
namespace {

constexpr const char* kAllAgain = "find out what ended it, then start all ranks again";

// For failures without a reason from the switch: a timeout, or a local error that explains itself.
const char* after_silence(const CommunicatorError& failure) {
  if (!failure.missing_ranks().empty())
    return "start these ranks, or see in `tributary show members` which of them the switch hears";
  if (std::string_view(failure.what()).find("did not answer") != std::string_view::npos)
    return "check that tributary-switchd runs, that the address is its switch.address, and that "
           "UDP passes to its udp_base_port";
  return nullptr;
}

const char* next_step(const CommunicatorError& failure) {
  using enum wire::Reason;
  switch (failure.reason()) {
    case none: return after_silence(failure);
    case unknown_job: return "`tributary show jobs` at the switch lists its jobs";
    case bad_rank: return "see the job's workers and `ports` in the switch's configuration";
    case sender_mismatch: return "end the other process that is this rank, or wait for its lease";
    case job_size_mismatch: return "give --size the job's `workers` in the switch's configuration";
    case op_mismatch: return "give every rank the same collective, count, type and operation";
    case deadline: return "see in `tributary show stragglers` what delays them";
    case lease_expired:
    case rank_left:
    case rank_restarted: return kAllAgain;
    case not_joined:
    case stale_epoch:
    case aborted:
    case shutdown:
    case parent_lost: return "start all ranks again once the switch runs";
    case broken_invariant: return "report it, with the log of the switch";
    case host_lost: return "see in `tributary show hosts` which of them the switch hears";
    default: return nullptr;
  }
}

}  // namespace

std::string with_next_step(const CommunicatorError& failure) {
  const char* const next = next_step(failure);
  return next == nullptr ? failure.what() : std::string(failure.what()) + "; " + next;
}

std::string multicast_warning(std::uint32_t rank, const CommunicatorStats& stats) {
  constexpr std::uint64_t kEnough = 8;
  if (stats.results < kEnough || stats.asked_results < stats.results) return {};
  return "rank " + std::to_string(rank) + ": all " + std::to_string(stats.results) +
         " results came only after this rank had asked for them: multicast from the switch does "
         "not reach this host; is there a firewall, NAT, or IGMP snooping without a querier on "
         "the way? `tributary doctor` looks at the interface";
}

}  // namespace tributary::client
