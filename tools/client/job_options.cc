// Options of a job, checked before anything is sent.
#include "tools/client/job_options.h"

#include <charconv>
#include <limits>

#include "config/switch_config.h"

namespace tributary::client {

void add_job_options(CLI::App& command, JobOptions& options) {
  command.add_option("--job", options.job, "Id of the job, as the switch's configuration has it")
      ->required()
      ->type_name("ID");
  command
      .add_option("--size", options.size,
                  "Number of ranks; the job's `workers` in the switch's configuration")
      ->required()
      ->check(CLI::Range(1u, config::kMaxWorkers))
      ->type_name("N");
  command
      .add_option("--address", options.address,
                  "Where the switch is: udp://IPV4[:PORT], or\n"
                  "memif:///SOCKET?id=N&switch=IPV4[&port=PORT][&ip=OWN_IPV4].\n"
                  "{rank} in it stands for the rank")
      ->required()
      ->type_name("URL");
  command
      .add_option("--timeout", options.timeout_seconds,
                  "Longest wait for all ranks to join, and for each operation")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str()
      ->type_name("SECONDS");
}

CLI::Option* add_rank_option(CLI::App& command, JobOptions& options) {
  return command
      .add_option_function<std::uint32_t>(
          "--rank", [&options](const std::uint32_t& rank) { options.rank = rank; },
          "This process is rank R, 0 to N - 1; the others run elsewhere")
      ->type_name("R");
}

void check_job_options(const JobOptions& options) {
  if (options.rank && *options.rank >= options.size)
    throw CLI::ValidationError("--rank " + std::to_string(*options.rank),
                               "allowed: 0 to " + std::to_string(options.size - 1) + " (--size " +
                                   std::to_string(options.size) + ")");
}

wire::DType dtype_option(const std::string& name) {
  for (const wire::DType dtype : {wire::DType::float32, wire::DType::int32})
    if (name == wire::name_of(dtype)) return dtype;
  throw CLI::ValidationError("--dtype " + name, "allowed: float32, int32");
}

std::optional<std::uint64_t> parse_size(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || end - at > 1) return std::nullopt;
  int shift = 0;
  if (at != end) {
    switch (*at) {
      case 'k':
      case 'K': shift = 10; break;
      case 'm':
      case 'M': shift = 20; break;
      case 'g':
      case 'G': shift = 30; break;
      default: return std::nullopt;
    }
  }
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
  return value << shift;
}

}  // namespace tributary::client
