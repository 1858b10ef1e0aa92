// The memory for results of each job (dataplane/memif/result_region.h), where ranks may be at memif
// ports. Made with a configuration, on a control thread; a job that does not change keeps its own.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "config/model/switch_config.h"
#include "dataplane/memif/result_region.h"

namespace tributary::dataplane {

class ResultRegions {
 public:
  // `part`: of the configuration, what this lcore does. `before`: those that there are.
  explicit ResultRegions(const config::SwitchConfig& part, const ResultRegions* before = nullptr);

  // nullptr: results of the job are copied to each rank.
  [[nodiscard]] const std::shared_ptr<ResultRegion>& of(std::uint32_t job) const {
    const auto found = by_job_.find(job);
    return found == by_job_.end() ? none_ : found->second;
  }

 private:
  std::unordered_map<std::uint32_t, std::shared_ptr<ResultRegion>> by_job_;
  std::shared_ptr<ResultRegion> none_;
};

}  // namespace tributary::dataplane
