#include "tools/client/collective/bench_table.h"

#include <cstdarg>
#include <cstdio>

#include "tools/client/collective/generated.h"

namespace tributary::client {
namespace {

using wire::Collective;

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

unsigned long long number(std::uint64_t value) {
  return value;
}

std::string type_of(const BenchOptions& o) {
  return o.collective == Collective::barrier ? "none" : wire::name_of(o.dtype);
}
std::string op_of(const BenchOptions& o) {
  return reduces(o.collective) ? wire::name_of(o.op) : "none";
}
// As nccl-tests has it: −1 where there is none.
int root_of(const BenchOptions& o) {
  return has_root(o.collective) ? static_cast<int>(o.root) : -1;
}

std::string columns(const std::optional<BenchFigures>& figures) {
  if (!figures) return text("%11s %8s %8s %6s", "-", "-", "-", "-");
  return text("%11.2f %8.3f %8.3f %6llu", figures->mean_us, figures->algbw_gbps,
              figures->busbw_gbps, number(figures->wrong));
}

const char* bus_note(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "# busbw: algbw x 2 (n - 1) / n, what a link carries where ranks make the sum. The "
             "switch\n"
             "# makes it: each link carries size bytes up and size bytes down at once, so algbw is "
             "what it\n"
             "# carries each way, and busbw can exceed the link's rate.\n";
    case Collective::reduce:
      return "# busbw: algbw. Each link carries size bytes up, the root's size bytes down, too.\n";
    case Collective::broadcast:
      return "# busbw: algbw. The root's link carries size bytes up, each link size bytes down: "
             "the switch\n"
             "# makes the copies.\n";
    case Collective::all_gather:
      return "# busbw: algbw x (n - 1) / n, what a link carries where ranks pass parts on. Here "
             "each link\n"
             "# carries size / n bytes up and size bytes down: the switch makes the copies.\n";
    case Collective::reduce_scatter:
      return "# busbw: algbw x (n - 1) / n, what a link carries where ranks make the sums. The "
             "switch\n"
             "# makes them: each link carries size bytes up and size / n bytes down.\n";
    default: return "";
  }
}

Json json_of(const CommunicatorStages& s, std::uint32_t iterations) {
  const auto each = [iterations](std::uint64_t total, double unit) {
    return static_cast<double>(total) / unit / iterations;
  };
  return {{"session_us", each(s.session_ns, 1e3)}, {"send_us", each(s.send_ns, 1e3)},
          {"receive_us", each(s.receive_ns, 1e3)}, {"unpack_us", each(s.unpack_ns, 1e3)},
          {"wait_us", each(s.wait_ns, 1e3)},       {"sends", each(s.sends, 1)},
          {"datagrams", each(s.datagrams, 1)},     {"receives", each(s.receives, 1)},
          {"packets", each(s.packets, 1)},         {"waits", each(s.waits, 1)}};
}

Json json_of(const BenchOptions& options, const std::optional<BenchFigures>& figures) {
  if (!figures) return nullptr;
  Json out = {{"time_us", figures->mean_us},
              {"median_us", figures->median_us},
              {"min_us", figures->min_us},
              {"max_us", figures->max_us},
              {"algbw_gbps", figures->algbw_gbps},
              {"busbw_gbps", figures->busbw_gbps},
              {"wrong", figures->wrong}};
  if (options.job.stages) out["stages"] = json_of(figures->stages, options.iterations);
  return out;
}

std::string stage_line(const BenchOptions& options, const char* place,
                       const std::optional<BenchFigures>& figures) {
  if (!figures) return "";
  const CommunicatorStages& s = figures->stages;
  const auto us = [&](std::uint64_t ns) {
    return static_cast<double>(ns) / 1e3 / options.iterations;
  };
  const auto each = [&](std::uint64_t n) { return static_cast<double>(n) / options.iterations; };
  return text(
      "#   %s, us an iteration: session %.1f, send %.1f (%.1f calls, %.1f packets), "
      "wait %.1f (%.1f times), receive %.1f (%.1f calls), unpack %.1f (%.1f packets)\n",
      place, us(s.session_ns), us(s.send_ns), each(s.sends), each(s.datagrams), us(s.wait_ns),
      each(s.waits), us(s.receive_ns), each(s.receives), us(s.unpack_ns), each(s.packets));
}

}  // namespace

std::string bench_heading(const BenchOptions& options) {
  std::string out =
      text("# %s, job %u, %u ranks, %u iterations after %u for warm-up, every one checked; %s\n",
           wire::name_of(options.collective), options.job.job, options.job.size, options.iterations,
           options.warmup, options.job.address.c_str());
  if (options.job.stages)
    out += "# stages: of the progress thread, an iteration and the barrier before it\n";
  out += text("#%11s %12s %8s %6s %5s %36s %36s\n", "", "", "", "", "", "out-of-place", "in-place");
  const char* const named = "%11s %8s %8s %6s";
  out += text("#%11s %12s %8s %6s %5s ", "size", "count", "type", "redop", "root");
  out += text(named, "time", "algbw", "busbw", "#wrong") + ' ';
  out += text(named, "time", "algbw", "busbw", "#wrong") + '\n';
  out += text("#%11s %12s %8s %6s %5s ", "(B)", "(elements)", "", "", "");
  out += text(named, "(us)", "(GB/s)", "(GB/s)", "") + ' ';
  out += text(named, "(us)", "(GB/s)", "(GB/s)", "") + '\n';
  return out;
}

std::string bench_line(const BenchOptions& options, const BenchRow& row) {
  return text("%12llu %12llu %8s %6s %5d ", number(row.bytes), number(row.count),
              type_of(options).c_str(), op_of(options).c_str(), root_of(options)) +
         columns(row.out_of_place) + ' ' + columns(row.in_place) + '\n';
}

std::string stage_lines(const BenchOptions& options, const BenchRow& row) {
  return stage_line(options, "out-of-place", row.out_of_place) +
         stage_line(options, "in-place", row.in_place);
}

std::uint64_t wrong_elements(const std::vector<BenchRow>& rows) {
  std::uint64_t wrong = 0;
  for (const BenchRow& row : rows)
    for (const auto& figures : {row.out_of_place, row.in_place})
      wrong += figures ? figures->wrong : 0;
  return wrong;
}

std::string bench_footer(const BenchOptions& options, const std::vector<BenchRow>& rows) {
  double busbw = 0;
  int count = 0;
  for (const BenchRow& row : rows)
    for (const auto& figures : {row.out_of_place, row.in_place}) {
      busbw += figures ? figures->busbw_gbps : 0;
      count += figures ? 1 : 0;
    }
  const std::uint64_t wrong = wrong_elements(rows);
  return text("# wrong elements: %llu %s\n# average bus bandwidth: %.3f GB/s\n", number(wrong),
              wrong == 0 ? "OK" : "FAILED", count == 0 ? 0.0 : busbw / count) +
         bus_note(options.collective);
}

Json bench_json(const BenchOptions& options, const std::vector<BenchRow>& rows) {
  Json list = Json::array();
  for (const BenchRow& row : rows) {
    Json out = {{"collective", wire::name_of(options.collective)},
                {"size", row.bytes},
                {"count", row.count},
                {"type", type_of(options)},
                {"redop", op_of(options)},
                {"root", root_of(options)},
                {"ranks", options.job.size},
                {"iterations", options.iterations},
                {"out_of_place", json_of(options, row.out_of_place)},
                {"in_place", json_of(options, row.in_place)}};
    const Json figures = row.in_place ? out["in_place"] : out["out_of_place"];  // out moves its own
    out.update(figures);
    list.push_back(std::move(out));
  }
  return list;
}

}  // namespace tributary::client
