#include "tools/loadgen/options.h"

#include <charconv>

#include "config/text/codec.h"
#include "tools/cli/app.h"
#include "tools/impair/options.h"

namespace tributary::loadgen {
namespace {

template <typename T, typename Parse>
void add_parsed(cli::App& app, const std::string& name, T& target, Parse parse,
                const std::string& allowed, const std::string& type, const std::string& help) {
  app.add_parsed(
         name,
         [&target, name, parse, allowed](const std::string& text) {
           const auto value = parse(text);
           if (!value) throw cli::UsageError(name, "'" + text + "' is not " + allowed);
           target = *value;
         },
         help)
      ->type_name(type);
}

// "3:REST"
std::optional<std::pair<std::uint32_t, std::string>> parse_numbered(const std::string& text) {
  std::uint32_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{} || end == last || *end != ':') return std::nullopt;
  return std::pair(number, std::string(end + 1, last));
}

void add_share(cli::App& app, const std::string& name, std::uint32_t& target,
               const std::string& help) {
  add_parsed(app, name, target, impair::parse_ppm, "0 or 0% to 100%", "PERCENT", help);
}

void add_time(cli::App& app, const std::string& name, Duration& target, const std::string& help) {
  const auto parse = [](const std::string& text) {
    const auto time = text == "0" ? Duration() : config::parse_duration(text);
    return time && *time <= Duration::seconds(86'400) ? time : std::nullopt;
  };
  add_parsed(app, name, target, parse, "0, or a time up to 24h such as 500ms or 90s", "TIME", help);
}

std::optional<wire::DType> parse_dtype(const std::string& text) {
  if (text == "float32") return wire::DType::float32;
  if (text == "int32") return wire::DType::int32;
  return std::nullopt;
}

void add_ends(cli::App& app, Options& options) {
  app.add_parsed_list(
         "--port",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const std::size_t equals = text.find('=');
             if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
               throw cli::UsageError("--port", "'" + text + "' is not NAME=DEVARGS");
             options.ends[text.substr(0, equals)] = text.substr(equals + 1);
           }
         },
         "other end of the switch's port NAME; memif and vhost-user need none")
      ->type_name("NAME=DEVARGS")
      ->expected(1)
      ->take_all();
}

void add_late(cli::App& app, Options& options) {
  app.add_parsed_list(
         "--late",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const auto late = parse_late(text);
             if (!late)
               throw cli::UsageError("--late", "'" + text + "' is not RANK:TIME, such as 3:20ms");
             options.late.insert_or_assign(late->first, late->second);
           }
         },
         "rank that issues each op so much later than the rest; repeatable")
      ->type_name("RANK:TIME")
      ->expected(1)
      ->take_all();
}

void add_job_rates(cli::App& app, Options& options) {
  app.add_parsed_list(
         "--job-rate",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             const auto rate = parse_job_rate(text);
             if (!rate)
               throw cli::UsageError("--job-rate",
                                     "'" + text + "' is not ID:RATE, such as 3:250k or 3:max");
             options.job_rates.insert_or_assign(rate->first, rate->second);
           }
         },
         "contributions a second of one job, whatever --rate says; repeatable")
      ->type_name("ID:RATE")
      ->expected(1)
      ->take_all();
}

void add_load(cli::App& app, Options& options) {
  app.add_option("--job", options.jobs, "id of a job to play; repeatable (default: all)");
  add_ends(app, options);
  add_parsed(app, "--rate", options.rate, parse_rate, "max, or a number such as 250000 or 250k",
             "RATE", "contributions a second, of all workers together (default: max)");
  add_job_rates(app, options);
  app.add_option("--ops", options.ops, "ops of each job (default: until --duration or a signal)");
  add_time(app, "--duration", options.duration, "how long ops are issued");
  add_time(app, "--warm-up", options.warm_up,
           "part of that at the beginning, which counts in no rate, latency or lag (default: 0s)");
  add_parsed(app, "--dtype", options.dtype, parse_dtype, "float32 or int32", "TYPE",
             "type of the data (default: float32)");
  app.add_option("--op-chunks", options.op_chunks, "chunks of an op (default: 16)")
      ->check(cli::range(1, 4096));
  app.add_option("--loss-group", options.loss_group, "as of the library's communicators")
      ->check(cli::range(0, 4096));
  add_time(app, "--join-timeout", options.join_timeout, "for the links and all ranks to appear");
  add_time(app, "--op-timeout", options.op_timeout, "of an op");
}

void add_faults(cli::App& app, Options& options) {
  add_share(app, "--lose", options.faults.lose_ppm, "packets sent and results that get lost");
  add_share(app, "--duplicate", options.faults.duplicate_ppm, "packets sent twice");
  add_share(app, "--garbage", options.faults.garbage_ppm,
            "contributions that a malformed or foreign packet follows");
  add_share(app, "--falsify", options.faults.falsify_ppm,
            "contributions with wrong data, to see that the check of the sums fails");
  add_late(app, options);
  app.add_parsed(
         "--l2",
         [&options](const std::string& text) {
           const auto rate = parse_rate(text);
           if (!rate || *rate == 0)
             throw cli::UsageError("--l2", "'" + text + "' is not a number such as 50k");
           options.l2_rate = *rate;
         },
         "frames a second of plain Ethernet traffic between the ports")
      ->type_name("RATE");
  app.add_option("--l2-port", options.l2_ports,
                 "switch's port that has such traffic; repeatable (default: all)")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  app.add_option("--l2-macs", options.l2_stations, "stations of that (default: 1024)")
      ->check(cli::range(2, 1'000'000));
  app.add_option("--l2-bytes", options.l2_bytes, "bytes of a frame (default: 256)")
      ->check(cli::range(60, 9234));
  app.add_option("--seed", options.seed, "seed of all random choices (default: 1)");
}

}  // namespace

std::optional<std::uint64_t> parse_rate(const std::string& text) {
  if (text == "max") return 0;
  std::uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  const std::string_view unit(end, last);
  constexpr std::uint64_t kMost = 1'000'000'000;
  if (error != std::errc{} || value == 0 || value > kMost) return std::nullopt;
  if (unit == "k") value *= 1'000;
  if (unit == "M") value *= 1'000'000;
  if ((!unit.empty() && unit != "k" && unit != "M") || value > kMost) return std::nullopt;
  return value;
}

std::optional<std::pair<std::uint32_t, std::uint64_t>> parse_job_rate(const std::string& text) {
  const auto split = parse_numbered(text);
  const auto rate = split ? parse_rate(split->second) : std::nullopt;
  if (!rate) return std::nullopt;
  return std::pair(split->first, *rate);
}

std::optional<std::pair<std::uint32_t, Duration>> parse_late(const std::string& text) {
  const auto split = parse_numbered(text);
  const auto time = split ? impair::parse_duration(split->second) : std::nullopt;
  if (!time) return std::nullopt;
  return std::pair(split->first, *time);
}

std::optional<int> parse_options(int argc, const char* const* argv, Options& options) {
  cli::App app(
      "Plays the workers of a switch's jobs over DPDK ports, with known data, and checks every "
      "result.\nExit status: 0 every result was right; 1 something did not work; 2 a result was "
      "wrong, or a bad command line.",
      "tributary-loadgen");
  app.set_version_flag("--version", std::string("tributary-loadgen ") + TRIBUTARY_VERSION);
  app.add_option("--config", options.config_path, "the switch's configuration")->required();
  add_load(app, options);
  add_faults(app, options);
  app.add_option("--json", options.json, "write the report to this file; -: standard output");
  app.add_flag("--quiet", options.quiet, "no line a second on standard error");
  app.add_flag("--busy", options.busy, "never sleep, also when there is nothing to do");
  app.add_flag("--hugepages", options.hugepages, "take memory from hugepages");
  app.add_option("--dpdk-log-level", options.dpdk_log_level,
                 "log level of DPDK's libraries and drivers")
      ->check(cli::is_member(
          {"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"}));
  return app.run(argc, argv);
}

}  // namespace tributary::loadgen
