#include "tools/impair/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <utility>

#include "tools/cli/app.h"

namespace tributary::impair {
namespace {

struct Quantity {
  double value = 0;
  std::string_view unit;
};

std::optional<Quantity> parse_quantity(std::string_view text) {
  Quantity q;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), q.value);
  if (error != std::errc{} || !std::isfinite(q.value) || q.value < 0) return std::nullopt;
  q.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return q;
}

cli::Option* add_share(cli::App& app, const std::string& name, std::uint32_t& target,
                       const std::string& help) {
  return app
      .add_parsed(
          name,
          [&target, name](const std::string& text) {
            const auto ppm = parse_ppm(text);
            if (!ppm) throw cli::UsageError(name, "'" + text + "' is not 0 or 0% to 100%");
            target = *ppm;
          },
          help)
      ->type_name("PERCENT");
}

cli::Option* add_time(cli::App& app, const std::string& name, Duration& target,
                      const std::string& help) {
  return app
      .add_parsed(
          name,
          [&target, name](const std::string& text) {
            const auto time = parse_duration(text);
            if (!time) throw cli::UsageError(name, "'" + text + "' is not 0, or 1us to 60s");
            target = *time;
          },
          help)
      ->type_name("TIME");
}

}  // namespace

std::optional<std::uint32_t> parse_ppm(const std::string& text) {
  const auto q = parse_quantity(text);
  if (!q || q->value > 100) return std::nullopt;
  if (q->unit != "%" && !(q->unit.empty() && q->value == 0)) return std::nullopt;
  return static_cast<std::uint32_t>(std::lround(q->value * 10'000));
}

std::optional<Duration> parse_duration(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  const auto q = parse_quantity(text);
  if (!q) return std::nullopt;
  if (q->unit.empty()) return q->value == 0 ? std::optional(Duration()) : std::nullopt;
  for (const auto& [name, ns] : units) {
    if (q->unit == name && q->value * ns <= 60e9) return Duration::ns(std::llround(q->value * ns));
  }
  return std::nullopt;
}

Duration read_delay(const std::string& file, Duration otherwise) {
  std::ifstream in(file);
  if (!in) return otherwise;
  std::string text;
  std::getline(in, text);
  const auto delay = parse_duration(text);
  if (!delay)
    throw std::runtime_error(file + ": '" + text + "' is not a delay; allowed: 0, or 1us to 60s");
  return *delay;
}

std::optional<FirstLossConfig> parse_first_loss(const std::string& text) {
  using enum wire::PacketType;
  const std::size_t colon = text.find(':');
  const std::string_view name = std::string_view(text).substr(0, colon);
  FirstLossConfig loss;
  const std::array types = {contribution, aggregate, result};
  const auto type = std::find_if(types.begin(), types.end(), [name](wire::PacketType known) {
    return name == wire::name_of(known);
  });
  if (type == types.end()) return std::nullopt;
  loss.type = *type;
  if (colon == std::string::npos) return loss;
  std::uint32_t job = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + colon + 1, last, job);
  if (error != std::errc{} || end != last) return std::nullopt;
  loss.job = job;
  return loss;
}

std::optional<int> parse_options(int argc, const char* const* argv, Options& options) {
  cli::App app("Joins two DPDK ports like a cable that loses, repeats and reorders frames.",
               "tributary-impair");
  app.set_version_flag("--version", TRIBUTARY_VERSION);
  app.add_option("--a", options.devargs_a, "first port, DPDK devargs")->required();
  app.add_option("--b", options.devargs_b, "second port, DPDK devargs")->required();
  add_share(app, "--drop", options.impairment.drop_ppm, "share of frames lost");
  add_share(app, "--duplicate", options.impairment.duplicate_ppm, "share of frames sent twice");
  add_share(app, "--reorder", options.impairment.reorder_ppm, "share of frames held back");
  add_share(app, "--corrupt", options.impairment.corrupt_ppm, "share of frames with a flipped bit");
  add_time(app, "--delay", options.impairment.delay, "delay of every frame");
  app.add_option("--delay-file", options.delay_file,
                 "file whose first line replaces --delay; read when SIGHUP comes");
  add_time(app, "--reorder-delay", options.impairment.reorder_delay,
           "how long reordered frames are held back (default 500us)");
  const cli::Validator some =
      cli::range(std::uint32_t{1}, std::numeric_limits<std::uint32_t>::max());
  app.add_option("--rate", options.impairment.bits_per_second, "bits a second; 0: no bottleneck")
      ->check(cli::range(std::uint64_t{0}, std::uint64_t{1'000'000'000'000}));
  app.add_option("--queue", options.impairment.queue_bytes,
                 "bytes that wait for --rate, at most (default 65536)")
      ->check(some);
  app.add_option("--mark", options.impairment.mark_bytes,
                 "frames that find so many bytes waiting are marked (ECN); default: none is")
      ->check(some);
  app.add_parsed_list(
         "--lose-first",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const auto loss = parse_first_loss(text);
             if (!loss)
               throw cli::UsageError("--lose-first", "'" + text +
                                                         "' is not contribution, aggregate or "
                                                         "result, or one of these, ':' and a job");
             options.first_losses.push_back(*loss);
           }
         },
         "lose the first copy of each packet of this type, of all jobs or of one; may be repeated")
      ->type_name("TYPE[:JOB]");
  app.add_option("--seed", options.seed, "seed of all decisions (default 1)");
  app.add_flag("--wait-for-links", options.wait_for_links,
               "take no frame before both ports have a link");
  return app.run(argc, argv);
}

}  // namespace tributary::impair
