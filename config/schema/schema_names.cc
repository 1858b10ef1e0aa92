#include "config/schema/schema_names.h"

#include "config/model/switch_config.h"
#include "config/schema/schema_acl.h"

namespace tributary::config {

const Fields<NamesConfig>& names_fields() {
  using N = NamesConfig;
  static const Fields<N> fields = {
      scalar("megabytes", &N::megabytes, integer<std::uint32_t>(0, 1 << 20),
             "Memory of the cache, in MiB, shared out to the lcores; reserved at start, on top of "
             "`memory`. 0: the switch has no named data."),
      scalar("segment_bytes", &N::segment_bytes, multiple_of<std::uint32_t>(8, 64, kMaxChunkBytes),
             "Largest segment that the cache holds. Every segment takes that much of it."),
      scalar("entries", &N::entries, integer<std::uint32_t>(16, 1 << 22),
             "Names that were put and have not expired, for each lcore; jobs share them evenly. "
             "About 300 bytes each, on top of `megabytes`."),
      scalar(
          "pending", &N::pending, integer<std::uint32_t>(4, 1 << 16),
          "Names that wait for an answer from elsewhere, for each lcore; jobs share them evenly. "
          "Further requests are refused."),
      scalar("ttl", &N::ttl, duration(Duration::seconds(1), Duration::seconds(30 * 86400)),
             "From a put until the name expires: then it may be given anew."),
  };
  return fields;
}

const Fields<JobNames>& job_names_fields() {
  static const Fields<JobNames> fields = {
      scalar("enabled", &JobNames::enabled, boolean(),
             "Whether members may put and get values by name; needs `switch.names.megabytes`."),
      scalars("readers", &JobNames::readers, ip_prefix(), 0, kMaxNameReaders,
              "Hosts that may get values, too, though they are no members."),
  };
  return fields;
}

}  // namespace tributary::config
