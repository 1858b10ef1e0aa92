#include "tools/sim/plot.h"

#include <algorithm>
#include <cmath>

#include "tools/sim/panel.h"
#include "tools/sim/units.h"

namespace tributary::simtool {
namespace {

constexpr double kWidth = 1100;
constexpr double kLeft = 80;
constexpr double kPanelHeight = 210;
constexpr double kPanelPitch = 285;
constexpr double kFirstTop = 90;
constexpr std::size_t kMostCurvePoints = 400;
// Bars of more jobs than this cannot be told apart.
constexpr std::size_t kMostJobs = 7;

std::string time_label(double ns) {
  return time_text(Duration::ns(std::llround(ns)));
}
std::string share_label(double share) {
  return std::to_string(std::lround(share * 100)) + " %";
}
std::string name_of(const JobSummary& job) {
  return "job " + std::to_string(job.id) + ", " + std::to_string(job.workers) + " workers";
}

// Share of the values that are not above x, at some of the values.
std::vector<Svg::Point> distribution(const std::vector<Duration>& sorted, double least) {
  std::vector<Svg::Point> points = {{least, 0}};
  const std::size_t step = std::max<std::size_t>(1, sorted.size() / kMostCurvePoints);
  const auto add = [&](std::size_t i) {
    const double x = std::max(static_cast<double>(sorted[i].to_ns()), least);
    points.emplace_back(x, points.back().second);
    points.emplace_back(x, static_cast<double>(i + 1) / static_cast<double>(sorted.size()));
  };
  for (std::size_t i = 0; i < sorted.size(); i += step) add(i);
  add(sorted.size() - 1);
  return points;
}

Axis time_axis(double least, double most) {
  least = std::max(least, 1.0);
  most = std::max(most, least);
  if (most < least * 2) {  // room around what is nearly one value
    least /= 1.5;
    most *= 1.5;
  }
  return {least, most, true, time_label, 1};
}

Axis bytes_axis(double most) {
  const double step = std::floor(std::log2(std::max(most, 1.0)) / 10);
  return {0, most * 1.12, false, bytes_text, std::pow(1024, step)};
}

void draw_distribution(Svg& svg, double top, const std::string& title, const Summary& summary,
                       std::vector<Duration> JobSummary::*values) {
  double least = 0;
  double most = 0;
  for (const JobSummary& job : summary.jobs) {
    const auto& all = job.*values;
    if (all.empty()) continue;
    const auto first = static_cast<double>(all.front().to_ns());
    least = least == 0 ? first : std::min(least, first);
    most = std::max(most, static_cast<double>(all.back().to_ns()));
  }
  Panel panel(svg, kLeft, top, kWidth - kLeft - 220, kPanelHeight, title);
  const Axis x = time_axis(least, most);
  panel.axes(x, {0, 1, false, share_label, 1});
  std::size_t row = 0;
  for (std::size_t i = 0; i < summary.jobs.size() && i < kMostJobs; ++i) {
    const JobSummary& job = summary.jobs[i];
    if ((job.*values).empty()) continue;
    panel.curve(distribution(job.*values, x.least), i);
    panel.name_series(row++, i, name_of(job));
  }
}

void draw_links(Svg& svg, double top, const Summary& summary) {
  double most = 1;
  for (const JobSummary& job : summary.jobs)
    most = std::max({most, job.up.mean_data_bytes, job.down.mean_data_bytes, job.ring_bytes});
  Panel panel(svg, kLeft, top, kWidth - kLeft - 220, kPanelHeight,
              "Data on a rank's link, beside what a ring allreduce puts on it");
  panel.axes({0, 1, false, {}, 1}, bytes_axis(most));
  const std::size_t jobs = std::min(summary.jobs.size(), kMostJobs);
  const double group = 1.0 / static_cast<double>(jobs);
  for (std::size_t i = 0; i < jobs; ++i) {
    const JobSummary& job = summary.jobs[i];
    const double values[] = {job.up.mean_data_bytes, job.down.mean_data_bytes, job.ring_bytes,
                             job.ring_bytes};
    const double width = group / 5.5;
    for (std::size_t b = 0; b < 4; ++b) {
      const double place = static_cast<double>(i) * group +
                           width * (0.5 + static_cast<double>(b) + (b > 1 ? 0.3 : 0));
      panel.bar(place, width * 0.85, values[b], b < 2 ? 0 : 1, bytes_text(values[b]));
    }
    svg.text({kLeft + (static_cast<double>(i) + 0.5) * group * (kWidth - kLeft - 220),
              top + kPanelHeight + 16},
             name_of(job) + ": up, down; ring up, down", Anchor::middle, 11);
  }
  panel.name_series(0, 0, "this switch");
  panel.name_series(1, 1, "ring allreduce");
}

std::string subtitle(const Summary& s) {
  std::string text = "seed " + std::to_string(s.seed) + ", " + time_text(s.virtual_time) +
                     " of virtual time, " + count_text(s.events) + " events";
  if (s.switch_busy) text += ", switch busy " + share_label(*s.switch_busy);
  if (s.jobs.size() > 1) {
    text += ", fairness " + std::to_string(s.fairness).substr(0, 5);
  }
  if (s.modelled()) text += "; payloads modelled";
  if (s.failure) text += "; THE RUN FAILED";
  return text;
}

}  // namespace

std::string plot(const Summary& summary) {
  Svg svg(kWidth, kFirstTop + 3 * kPanelPitch);
  svg.text({kLeft, 30}, summary.name, Anchor::start, 20, "#000");
  svg.text({kLeft, 50}, subtitle(summary));
  draw_distribution(svg, kFirstTop, "Time of an op on one rank: share of ops that took at most",
                    summary, &JobSummary::rank_times);
  draw_distribution(svg, kFirstTop + kPanelPitch,
                    "Time a slot is held: share of chunks that took at most", summary,
                    &JobSummary::slot_holds);
  draw_links(svg, kFirstTop + 2 * kPanelPitch, summary);
  return svg.str();
}

std::string plot_scaling(const std::vector<Summary>& runs) {
  Svg svg(kWidth, kFirstTop + 2 * kPanelPitch);
  svg.text({kLeft, 30}, "One switch, growing jobs: " + runs.front().name, Anchor::start, 20,
           "#000");
  std::vector<Svg::Point> op, hold, link, ring;
  double most_bytes = 1;
  for (const Summary& s : runs) {
    const JobSummary& job = s.jobs.front();
    const double n = job.workers;
    op.emplace_back(n, std::max(1.0, static_cast<double>(job.op_time.p50.to_ns())));
    hold.emplace_back(n, std::max(1.0, static_cast<double>(job.slot_hold.p50.to_ns())));
    link.emplace_back(n, job.up.mean_data_bytes);
    ring.emplace_back(n, job.ring_bytes);
    most_bytes = std::max({most_bytes, job.up.mean_data_bytes, job.ring_bytes});
  }
  const auto workers_label = [](double n) { return count_text(static_cast<std::uint64_t>(n)); };
  const Axis x = {op.front().first / 1.2, op.back().first * 1.2, true, workers_label, 1};
  double least = op.front().second;
  double most = least;
  for (const auto* curve : {&op, &hold})
    for (const auto& [n, ns] : *curve) {
      least = std::min(least, ns);
      most = std::max(most, ns);
    }
  Panel times(svg, kLeft, kFirstTop, kWidth - kLeft - 220, kPanelHeight,
              "Median time over workers: an op on all ranks, and a slot");
  times.axes(x, time_axis(least, most));
  times.curve(op, 0, true);
  times.curve(hold, 1, true);
  times.name_series(0, 0, "op");
  times.name_series(1, 1, "slot held");
  Panel bytes(svg, kLeft, kFirstTop + kPanelPitch, kWidth - kLeft - 220, kPanelHeight,
              "Data on a rank's link, each way, over workers");
  bytes.axes(x, bytes_axis(most_bytes));
  bytes.curve(link, 0, true);
  bytes.curve(ring, 1, true);
  bytes.name_series(0, 0, "this switch");
  bytes.name_series(1, 1, "ring allreduce");
  return svg.str();
}

}  // namespace tributary::simtool
