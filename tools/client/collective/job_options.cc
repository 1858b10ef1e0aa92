// Options of a job, checked before anything is sent.
#include "tools/client/collective/job_options.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <vector>

#include "config/model/switch_config.h"
#include "tools/client/collective/op_delay.h"

namespace tributary::client {
namespace {

// An option that takes the names of an enumeration's values `first` to `last`.
template <typename Enum>
cli::Option* add_named(cli::App& command, const std::string& option, const std::string& text,
                       Enum& target, std::uint8_t first, std::uint8_t last) {
  std::vector<std::string> names;
  for (std::uint8_t i = first; i <= last; ++i)
    names.emplace_back(wire::name_of(static_cast<Enum>(i)));
  return command
      .add_parsed(
          option,
          [&target, first, names](const std::string& name) {
            const auto at = std::find(names.begin(), names.end(), name) - names.begin();
            target = static_cast<Enum>(first + at);
          },
          text)
      ->check(cli::is_member(names))
      ->default_str(wire::name_of(target))
      ->type_name("NAME");
}

}  // namespace

void add_job_options(cli::App& command, JobOptions& options) {
  command.add_option("--job", options.job, "Id of the job, as the switch's configuration has it")
      ->required()
      ->type_name("ID");
  command
      .add_option("--size", options.size,
                  "Number of ranks; the job's `workers` in the switch's configuration")
      ->required()
      ->check(cli::range(1u, config::kMaxWorkers))
      ->type_name("N");
  command
      .add_option("--address", options.address,
                  "Where the switch is: udp://IPV4[:PORT], rdma://IPV4[:PORT], or\n"
                  "memif:///SOCKET[?id=N&switch=IPV4&port=PORT&ip=OWN_IPV4].\n"
                  "{rank} in it stands for the rank")
      ->required()
      ->type_name("URL");
  command
      .add_option("--timeout", options.timeout_seconds,
                  "Longest wait for all ranks to join, and for each operation")
      ->check(cli::range(0.001, 1e6))
      ->capture_default_str()
      ->type_name("SECONDS");
  command
      .add_option("--loss-group", options.loss_group,
                  "Losses are found in groups of N chunks, a power of two; 0: by a timer for each")
      ->check(cli::range(0u, kMaxLossGroup))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--at-host", options.at_host,
                   "The job's completion host, a parameter server where it names one, sums what\n"
                   "this rank sends, and no switch does");
  command
      .add_option("--delay", options.delay,
                  "Be late on purpose: wait so long before each operation, or before every\n"
                  "Nth: \"200ms\", \"200ms every 3\"")
      ->type_name("DELAY");
  command
      .add_option("--delay-file", options.delay_file,
                  "Read that from a file before each operation; no file: no delay")
      ->envname("TRIBUTARY_DELAY_FILE")
      ->type_name("PATH");
}

cli::Option* add_rank_option(cli::App& command, JobOptions& options) {
  return command
      .add_option("--rank", options.rank,
                  "This process is rank R, 0 to N - 1; the others run elsewhere")
      ->type_name("R");
}

void check_job_options(const JobOptions& options) {
  if (options.rank && *options.rank >= options.size)
    throw cli::UsageError("--rank " + std::to_string(*options.rank),
                          "allowed: 0 to " + std::to_string(options.size - 1) + " (--size " +
                              std::to_string(options.size) + ")");
  (void)parse_lateness(options.delay);  // refuses a bad one before anything joins
  if (options.loss_group != 0 && !std::has_single_bit(options.loss_group))
    throw cli::UsageError("--loss-group " + std::to_string(options.loss_group),
                          "allowed: 0 and powers of two up to " + std::to_string(kMaxLossGroup));
}

cli::Option* add_dtype_option(cli::App& command, wire::DType& dtype) {
  return add_named(command, "--dtype", "Type of generated elements", dtype, 1, wire::kDTypeMax);
}

cli::Option* add_op_option(cli::App& command, wire::ReduceOp& op) {
  return add_named(command, "--op", "Reduction", op, 1, wire::kReduceOpMax);
}

cli::Option* add_collective_option(cli::App& command, wire::Collective& collective) {
  return add_named(command, "--collective", "Collective operation", collective, 0,
                   static_cast<std::uint8_t>(wire::Collective::reduce_scatter));
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
