// The report as lines of text, and runs of growing size as a table.
#include <array>
#include <cstdio>

#include "tools/sim/report.h"
#include "tools/sim/units.h"

namespace tributary::simtool {
namespace {

template <typename... Args>
std::string format(const char* pattern, Args... args) {
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), pattern, args...);
  return text.data();
}

std::string percentile_line(const char* what, const Percentiles& p) {
  if (p.count == 0) return format("  %-22s none\n", what);
  return format("  %-22s p50 %-12s p90 %-12s p99 %-12s max %s\n", what, time_text(p.p50).c_str(),
                time_text(p.p90).c_str(), time_text(p.p99).c_str(), time_text(p.max).c_str());
}

std::string link_line(const char* what, const LinkUse& use, double ring) {
  const double share = ring > 0 ? use.mean_data_bytes / ring : 0;
  return format("  %-22s %-12s of data (at most %s), %.2f of a ring's %s; %s in %.0f frames\n",
                what, bytes_text(use.mean_data_bytes).c_str(),
                bytes_text(static_cast<double>(use.most_data_bytes)).c_str(), share,
                bytes_text(ring).c_str(), bytes_text(use.mean_wire_bytes).c_str(), use.mean_frames);
}

std::string job_lines(const JobSummary& job) {
  std::string text = format("job %u: %u workers, %s ops of all ranks, %s summed per rank%s\n",
                            job.id, job.workers, count_text(job.ops).c_str(),
                            bytes_text(static_cast<double>(job.bytes_per_rank)).c_str(),
                            job.modelled ? ", payloads modelled" : "");
  text += percentile_line("op, all ranks", job.op_time);
  text += percentile_line("op, one rank", job.rank_time);
  text += percentile_line("slot held", job.slot_hold);
  text += link_line("link up", job.up, job.ring_bytes);
  text += link_line("link down", job.down, job.ring_bytes);
  text +=
      format("  %-22s %s per rank\n", "goodput", rate_text(job.goodput_bytes_per_second).c_str());
  text += format("  %-22s %s contributions, %s probes, %s resends, %s epochs\n", "switch saw",
                 count_text(job.contributions).c_str(), count_text(job.probes).c_str(),
                 count_text(job.resends).c_str(), count_text(job.epochs).c_str());
  return text;
}

}  // namespace

std::string text_report(const Summary& s) {
  std::string text =
      format("%s, seed %llu: %s of virtual time\n", s.name.c_str(),
             static_cast<unsigned long long>(s.seed), time_text(s.virtual_time).c_str());
  for (const JobSummary& job : s.jobs) text += job_lines(job);
  if (s.jobs.size() > 1)
    text += format("fairness of jobs         %.4f (Jain's index)\n", s.fairness);
  text += s.switch_busy
              ? format("switch busy              %.1f %% of the time, at most %s frames waited\n",
                       *s.switch_busy * 100, count_text(s.most_waiting_frames).c_str())
              : std::string("switch                   infinitely fast; its work costs no time\n");
  text += format("faults                   %s, %s sessions failed\n", count_text(s.faults).c_str(),
                 count_text(s.sessions_failed).c_str());
  if (s.modelled())
    text +=
        "payloads                 modelled: 8 bytes stand for each chunk and are summed and "
        "checked;\n                         links and switch are charged for all of it\n";
  text += format(
      "simulated                %s events in %.1f s of processor time (%.1f s in all), %s "
      "events/s\n",
      count_text(s.events).c_str(), s.run_time.processor_seconds, s.run_time.wall_seconds,
      count_text(static_cast<std::uint64_t>(s.events_per_second())).c_str());
  text +=
      format("trace                    %016llx\n", static_cast<unsigned long long>(s.trace_hash));
  if (s.failure) text += "FAILED: " + *s.failure + "\n";
  return text;
}

std::string scaling_table(const std::vector<Summary>& runs) {
  std::string text =
      "| workers | levels | data per rank | op p50 | op p99 | slot held p50 | up per link | down "
      "per link | "
      "ring, each way | goodput per rank | switch busy | events | events/s | processor time |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Summary& s : runs) {
    const JobSummary& job = s.jobs.front();
    text +=
        format("| %u | %u | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %.1f s |\n",
               job.workers, s.levels, bytes_text(static_cast<double>(job.bytes_per_rank)).c_str(),
               time_text(job.op_time.p50).c_str(), time_text(job.op_time.p99).c_str(),
               time_text(job.slot_hold.p50).c_str(), bytes_text(job.up.mean_data_bytes).c_str(),
               bytes_text(job.down.mean_data_bytes).c_str(), bytes_text(job.ring_bytes).c_str(),
               rate_text(job.goodput_bytes_per_second).c_str(),
               s.switch_busy ? format("%.0f %%", *s.switch_busy * 100).c_str() : "-",
               count_text(s.events).c_str(),
               count_text(static_cast<std::uint64_t>(s.events_per_second())).c_str(),
               s.run_time.processor_seconds);
  }
  return text;
}

}  // namespace tributary::simtool
