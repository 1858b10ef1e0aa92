#include "config/schema/schema_open.h"

#include "config/model/switch_config.h"
#include "config/plan/aggregation_memory.h"

namespace tributary::config {
namespace {

std::optional<std::uint32_t> id_of(std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > 0xFFFFFFFF) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

Codec<JobIds> job_ids() {
  return {"range", "FIRST-LAST, numbers of jobs from 1 to 4294967295, at most 65536 of them",
          [](const Node& node, JobIds& out) -> std::optional<std::string> {
            const std::string_view text = node.text;
            const std::size_t dash = text.find('-');
            if (dash == std::string_view::npos) return "is no range";
            const auto first = id_of(text.substr(0, dash));
            const auto last = id_of(text.substr(dash + 1));
            if (!first || !last || *first > *last || *last - *first > 0xFFFF) return "is no range";
            out = {*first, *last};
            return std::nullopt;
          },
          [](const JobIds& ids) -> std::optional<std::string> {
            if (!ids.any()) return std::nullopt;
            return std::to_string(ids.first) + "-" + std::to_string(ids.last);
          }};
}

}  // namespace

const Fields<OpenJobsConfig>& open_jobs_fields() {
  using O = OpenJobsConfig;
  static const Fields<O> fields = {
      scalar("ids", &O::ids, job_ids(),
             "Numbers of the jobs that ranks may open. Left out: none, and the switch has only the "
             "jobs that a file, a manager or `tributary set` names."),
      scalar("jobs", &O::jobs, integer<std::uint32_t>(1, kSpareJobs), "Such jobs at once."),
      scalar("slots", &O::slots, integer<std::uint32_t>(1, 1 << 20),
             "Windows of all such jobs together, which are static ones. What the file's jobs leave "
             "of `switch.slots` holds them."),
      scalar("megabytes", &O::megabytes, integer<std::uint32_t>(1, 1 << 20),
             "Most that sums, results and tables of all such jobs may take, in MiB; of "
             "`memory.reserve_megabytes`."),
      scalar("lease", &O::lease,
             duration(Duration::seconds(1), Duration::seconds(86400), Duration::ms(1)),
             "Silence of all its members after which such a job ends, and frees what it has."),
  };
  return fields;
}

}  // namespace tributary::config
