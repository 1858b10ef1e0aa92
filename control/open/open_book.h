// Decides about jobs that ranks open (A4), and notices those without members. Pure.
//
//   first switch of a node   a rank's request ─▶ the job, at once
//   the switch above         requests of the nodes' switches, gathered until all have come ─▶ the
//   job
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/shard/open_desk.h"
#include "config/model/switch_config.h"
#include "core/time.h"

namespace tributary::control {

class OpenBook {
 public:
  // Neither job nor refusal: there is nothing to do yet.
  struct Answer {
    std::optional<config::JobConfig> job;  // to be added
    aggregator::JoinRefusal refusal;
    std::string text;  // about the refusal
  };
  // `running` has the jobs that are open.
  Answer decide(const config::SwitchConfig& running, const aggregator::OpenRequest& request,
                Instant now);

  // Signs that an open job is used: members that are there, and answers to JOINs so far.
  struct Sign {
    std::uint32_t job = 0;
    std::uint64_t members = 0;
    std::uint64_t joins = 0;
  };
  // The open jobs of which nothing was heard for the lease. A job is to be in `signs` each time;
  // one that was not counts as heard of.
  std::vector<std::uint32_t> silent(const std::vector<Sign>& signs, Duration lease, Instant now);

 private:
  struct Gathered {
    wire::OpenJob task;
    std::map<std::uint16_t, config::OpenNeighbour> nodes;
    Instant last;
  };
  struct Life {
    std::uint64_t joins = 0;
    Instant heard;
  };

  Answer decide_below(const config::SwitchConfig& running, const aggregator::OpenRequest& request);
  Answer decide_above(const config::SwitchConfig& running, const aggregator::OpenRequest& request,
                      Instant now);

  std::map<std::uint32_t, Gathered> gathered_;
  std::map<std::uint32_t, Life> lives_;
};

}  // namespace tributary::control
