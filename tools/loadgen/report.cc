#include "tools/loadgen/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tributary::loadgen {
namespace {

// Rate of results verified after the warm-up.
double per_second(std::uint64_t all, std::uint64_t before, const Report& report) {
  const double seconds = report.seconds - report.warm_up_seconds;
  return seconds > 0 ? static_cast<double>(all - before) / seconds : 0;
}

double microseconds(Duration time) {
  return static_cast<double>(time.to_ns()) * 1e-3;
}

nlohmann::ordered_json figures_json(const Figures& f, const Report& report) {
  const PlayerCounts& c = f.counts;
  const Histogram& h = f.latencies;
  return {{"ops", f.ops},
          {"contributions", f.contributions},
          {"contributions_per_s", per_second(c.verified, c.warm_up_verified, report)},
          {"goodput_gbytes_per_s", per_second(c.verified_bytes, c.warm_up_bytes, report) * 1e-9},
          {"results_verified", c.verified},
          {"results_wrong", c.wrong},
          {"results_degraded", c.degraded},
          {"latency_us",
           {{"p50", microseconds(h.percentile(0.5))},
            {"p99", microseconds(h.percentile(0.99))},
            {"p999", microseconds(h.percentile(0.999))},
            {"max", microseconds(h.max())}}},
          {"lag_us", microseconds(f.lag)},
          {"probes", f.probes},
          {"resends", f.resends},
          {"pending_replies", f.pending_replies},
          {"unknown_replies", f.unknown_replies},
          {"duplicate_results", f.duplicate_results},
          {"drops", f.drops},
          {"no_buffer", c.no_buffer},
          {"faults",
           {{"lost_sent", c.lost_sent},
            {"lost_received", c.lost_received},
            {"duplicated", c.duplicated},
            {"garbage", c.garbage},
            {"falsified", c.falsified}}}};
}

std::string line(const char* name, const Figures& f, const Report& report) {
  const PlayerCounts& c = f.counts;
  const Histogram& h = f.latencies;
  std::array<char, 320> text{};
  std::snprintf(
      text.data(), text.size(),
      "%-16s %8llu %12llu %12.0f %8.3f %9.1f %9.1f %9.1f %9.1f %8llu %8llu %6llu\n", name,
      static_cast<unsigned long long>(f.ops), static_cast<unsigned long long>(c.verified),
      per_second(c.verified, c.warm_up_verified, report),
      per_second(c.verified_bytes, c.warm_up_bytes, report) * 1e-9, microseconds(h.percentile(0.5)),
      microseconds(h.percentile(0.99)), microseconds(h.percentile(0.999)), microseconds(h.max()),
      static_cast<unsigned long long>(f.probes), static_cast<unsigned long long>(f.resends),
      static_cast<unsigned long long>(c.wrong));
  return text.data();
}

}  // namespace

void Figures::add(const Player& player) {
  const worker::SessionCounters& s = player.session_counters();
  contributions += s.contributions.get();
  probes += s.probes.get();
  resends += s.resends.get();
  pending_replies += s.pending_replies.get();
  unknown_replies += s.unknown_replies.get();
  duplicate_results += s.duplicate_results.get();
  drops += s.drops.total();
  Figures rest;
  rest.counts = player.counts();
  rest.latencies = player.latencies();
  add(rest);
}

void Figures::add(const Figures& o) {
  ops += o.ops;
  contributions += o.contributions;
  probes += o.probes;
  resends += o.resends;
  pending_replies += o.pending_replies;
  unknown_replies += o.unknown_replies;
  duplicate_results += o.duplicate_results;
  drops += o.drops;
  lag = std::max(lag, o.lag);
  counts.verified += o.counts.verified;
  counts.verified_bytes += o.counts.verified_bytes;
  counts.warm_up_verified += o.counts.warm_up_verified;
  counts.warm_up_bytes += o.counts.warm_up_bytes;
  counts.wrong += o.counts.wrong;
  counts.degraded += o.counts.degraded;
  counts.lost_sent += o.counts.lost_sent;
  counts.lost_received += o.counts.lost_received;
  counts.duplicated += o.counts.duplicated;
  counts.garbage += o.counts.garbage;
  counts.falsified += o.counts.falsified;
  counts.no_buffer += o.counts.no_buffer;
  latencies.add(o.latencies);
}

JobReport report_of(const Job& job, std::uint32_t id, const std::string& name) {
  JobReport out;
  out.id = id;
  out.name = name;
  out.workers = static_cast<std::uint32_t>(job.players().size());
  out.figures.ops = job.issued();
  out.figures.lag = job.lag();
  for (const Player* player : job.players()) {
    out.figures.add(*player);
    out.figures.ops = std::min(out.figures.ops, player->finished());
    const std::string& why = player->failure();
    if (!why.empty() &&
        std::find(out.failures.begin(), out.failures.end(), why) == out.failures.end())
      out.failures.push_back(why);
    if (out.first_wrong.empty()) out.first_wrong = player->first_wrong();
  }
  if (out.failures.empty() && out.figures.ops < job.issued())
    out.failures.push_back("job " + std::to_string(id) + ": " +
                           std::to_string(job.issued() - out.figures.ops) +
                           " ops were not finished");
  return out;
}

Figures Report::total() const {
  Figures all;
  for (const JobReport& job : jobs) all.add(job.figures);
  return all;
}

int Report::exit_status() const {
  if (total().counts.wrong > 0 || l2.damaged > 0) return 2;
  const bool failed = std::any_of(jobs.begin(), jobs.end(),
                                  [](const JobReport& job) { return !job.failures.empty(); });
  return failed ? 1 : 0;
}

std::string to_text(const Report& report) {
  std::array<char, 256> head{};
  std::snprintf(head.data(), head.size(), "%-16s %8s %12s %12s %8s %9s %9s %9s %9s %8s %8s %6s\n",
                "JOB", "OPS", "VERIFIED", "CONTRIB/S", "GB/S", "P50_US", "P99_US", "P99.9_US",
                "MAX_US", "PROBES", "RESENDS", "WRONG");
  std::string text = head.data();
  for (const JobReport& job : report.jobs) text += line(job.name.c_str(), job.figures, report);
  if (report.jobs.size() != 1) text += line("total", report.total(), report);
  if (const L2Counts& l2 = report.l2; l2.sent > 0)
    text += "plain frames: sent " + std::to_string(l2.sent) + ", received " +
            std::to_string(l2.received) + ", elsewhere " + std::to_string(l2.elsewhere) +
            ", damaged " + std::to_string(l2.damaged) + "\n";
  for (const JobReport& job : report.jobs) {
    for (const std::string& why : job.failures) text += "failed: " + why + "\n";
    if (!job.first_wrong.empty()) text += "wrong: " + job.first_wrong + "\n";
  }
  return text;
}

std::string to_json(const Report& report) {
  nlohmann::ordered_json out;
  out["seconds"] = report.seconds;
  out["warm_up_seconds"] = report.warm_up_seconds;
  out["status"] = report.exit_status();
  out["interrupted"] = report.interrupted;
  out["total"] = figures_json(report.total(), report);
  out["jobs"] = nlohmann::ordered_json::array();
  for (const JobReport& job : report.jobs) {
    nlohmann::ordered_json j = {{"id", job.id}, {"name", job.name}, {"workers", job.workers}};
    j.update(figures_json(job.figures, report));
    j["failures"] = job.failures;
    j["first_wrong"] = job.first_wrong;
    out["jobs"].push_back(j);
  }
  out["l2"] = {
      {"sent", report.l2.sent},
      {"received", report.l2.received},
      {"received_per_s", per_second(report.l2.received, report.l2.warm_up_received, report)},
      {"elsewhere", report.l2.elsewhere},
      {"damaged", report.l2.damaged}};
  out["refused_frames"] = report.refused_frames;
  return out.dump(2) + "\n";
}

}  // namespace tributary::loadgen
