#include "dataplane/aggregation/result_regions.h"

#include <algorithm>
#include <system_error>

#include "core/wire/header.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/memif/memif_settings.h"

namespace tributary::dataplane {
namespace {

// For what result info, degraded lists and the like take.
constexpr std::size_t kExtensionRoom = 64;
constexpr std::uint32_t kMostSlots = 8192;
// A result must be worth the frame that says where it is.
constexpr std::uint32_t kLeastChunkBytes = 512;

bool has_memif_server(const config::SwitchConfig& config) {
  return std::ranges::any_of(config.ports, [](const config::PortConfig& port) {
    return serves_memif(parse_devargs(port.devargs));
  });
}

bool is_as_before(const ResultRegion& region, const ResultRegion& before) {
  return region.share().slots == before.share().slots &&
         region.share().slot_bytes == before.share().slot_bytes;
}

}  // namespace

ResultRegions::ResultRegions(const config::SwitchConfig& part, const ResultRegions* before) {
  if (!has_memif_server(part)) return;
  for (const config::JobConfig& job : part.jobs) {
    if (job.integrity != wire::Integrity::udp_checksum || job.chunk_bytes < kLeastChunkBytes)
      continue;
    const std::uint32_t slots =
        std::min<std::uint32_t>(2 * std::uint32_t{job.window} * job.shards, kMostSlots);
    try {
      auto region = std::make_shared<ResultRegion>(
          wire::kHeaderBytes + kExtensionRoom + job.chunk_bytes, slots);
      const auto& old = before == nullptr ? none_ : before->of(job.id);
      by_job_[job.id] = old != nullptr && is_as_before(*region, *old) ? old : std::move(region);
    } catch (const std::system_error&) {  // a kernel before 5.1, or too many files: copies do
    }
  }
}

}  // namespace tributary::dataplane
