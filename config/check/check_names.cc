#include "config/check/check_names.h"

#include <string>

#include "core/wire/data_name.h"

namespace tributary::config {
namespace {

void check_job_names(const SwitchConfig& config, const JobConfig& job, const std::string& path,
                     ReadContext& context) {
  const std::string names = path + ".names";
  if (!job.names.enabled) {
    if (!job.names.readers.empty() && context.usable(names + ".readers"))
      context.report(names + ".readers", "say nothing; allowed: with `enabled: true`");
    return;
  }
  if (!context.usable(names + ".enabled")) return;
  if (!config.names.enabled() && context.usable("switch.names.megabytes"))
    return context.report(names + ".enabled",
                          "the switch has no memory for names; allowed: with "
                          "switch.names.megabytes of 1 or more");
  if (!context.usable(path + ".chunk_bytes")) return;
  if (job.chunk_bytes < wire::kMinNamedChunkBytes)
    return context.report(path + ".chunk_bytes",
                          std::to_string(job.chunk_bytes) +
                              " leave no room for a name; allowed in a job with names: at least " +
                              std::to_string(wire::kMinNamedChunkBytes));
  const std::uint32_t segment = wire::segment_bytes(job.chunk_bytes);
  if (segment > config.names.segment_bytes && context.usable("switch.names.segment_bytes"))
    context.report(path + ".chunk_bytes",
                   "segments of " + std::to_string(segment) +
                       " bytes exceed switch.names.segment_bytes of " +
                       std::to_string(config.names.segment_bytes) + "; allowed: at most " +
                       std::to_string(config.names.segment_bytes + wire::kNameBytesBeyondUsual) +
                       ", or larger segment_bytes");
}

}  // namespace

void check_names(const SwitchConfig& config, ReadContext& context) {
  for (std::size_t i = 0; i < config.jobs.size(); ++i)
    check_job_names(config, config.jobs[i], item_path("jobs", i), context);
}

}  // namespace tributary::config
