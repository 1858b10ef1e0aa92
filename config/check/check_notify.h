// Checks which jobs may have their results notified by hosts other than the root (T9, protocol
// "Ways of notifying").
#pragma once

#include <string>

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

// The kinds of completion hosts that a job names, without the root.
struct HostKinds {
  bool servers = false;   // or workers
  bool switches = false;  // of its tree
};
HostKinds kinds_without_tree(const JobConfig& job);

// `path` is the job's.
void check_notify(const JobConfig& job, const std::string& path, const HostKinds& hosts,
                  ReadContext& context);

// In a switch's own file, a job's hosts that notify directly have a known way: `notify: direct`
// lets them speak to workers, and any node could claim their addresses.
void check_direct_hosts(const SwitchConfig& config, const JobConfig& job, ReadContext& context);

}  // namespace tributary::config
