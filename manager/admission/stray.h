// Jobs that run on, though the topology has their workers no more, or elsewhere: an operator
// changed the file and started the manager again.
#pragma once

#include <string>
#include <vector>

#include "manager/admission/admission.h"

namespace tributary::manager {

// The worker as the topology has it, in the form of Job::places.
config::TopologyWorker place_of(const config::TopologyWorker& worker);
// A job as switches are to have it. Members whose worker left its place have names that no worker
// has.
struct Told {
  config::TopologyJob job;
  std::vector<config::TopologyWorker> left;  // these places, under those names
  std::string names;                         // of the workers: "w3, w4"
};
Told with_places(const Job& job, const config::Topology& topology, const TreeIndex& index);

}  // namespace tributary::manager
