// `tributary bench allreduce`: nccl-tests' table from rank 0.
#include <cstdio>
#include <iostream>
#include <memory>

#include "tools/client/collective/bench.h"
#include "tools/client/collective/job_options.h"
#include "tools/client/collective/pattern.h"
#include "tools/client/commands.h"
#include "tools/client/control/table.h"

namespace tributary::client {
namespace {

struct Arguments {
  BenchOptions options;
  std::string min = "1K";
  std::string max = "16M";
  bool local = false;
  bool json = false;
};

std::uint64_t size_option(const char* name, const std::string& text) {
  const auto size = parse_size(text);
  if (!size || *size == 0 || *size > (std::uint64_t{64} << 30))
    throw cli::UsageError(std::string(name) + ' ' + text,
                          "allowed: a number of bytes, e.g. 4096, 64K, 16M; 1 to 64G");
  return *size;
}

void print_heading(const BenchOptions& options) {
  std::printf("# job %u, %u ranks, %u iterations after %u for warm-up, every one checked; %s\n",
              options.job.job, options.job.size, options.iterations, options.warmup,
              options.job.address.c_str());
  std::printf("#%11s %12s %8s %6s %11s %8s %8s %6s\n", "size", "count", "type", "redop", "time",
              "algbw", "busbw", "#wrong");
  std::printf("#%11s %12s %8s %6s %11s %8s %8s %6s\n", "(B)", "(elements)", "", "", "(us)",
              "(GB/s)", "(GB/s)", "");
  std::fflush(stdout);
}

void print_row(const BenchOptions& options, const BenchRow& row) {
  std::printf("%12llu %12llu %8s %6s %11.2f %8.3f %8.3f %6llu\n",
              static_cast<unsigned long long>(row.bytes),
              static_cast<unsigned long long>(row.count), wire::name_of(options.dtype),
              wire::name_of(options.op), row.mean_us, row.algbw_gbps, row.busbw_gbps,
              static_cast<unsigned long long>(row.wrong));
  std::fflush(stdout);
}

void print_json(const BenchOptions& options, const std::vector<BenchRow>& rows) {
  Json list = Json::array();
  for (const BenchRow& row : rows)
    list.push_back({{"size", row.bytes},
                    {"count", row.count},
                    {"type", wire::name_of(options.dtype)},
                    {"redop", wire::name_of(options.op)},
                    {"ranks", options.job.size},
                    {"iterations", options.iterations},
                    {"time_us", row.mean_us},
                    {"median_us", row.median_us},
                    {"min_us", row.min_us},
                    {"max_us", row.max_us},
                    {"algbw_gbps", row.algbw_gbps},
                    {"busbw_gbps", row.busbw_gbps},
                    {"wrong", row.wrong}});
  std::cout << list.dump(2) << '\n';
}

int run(Arguments& arguments) {
  BenchOptions& options = arguments.options;
  check_job_options(options.job);
  (void)Pattern(options.dtype, options.op, options.job.size);  // refuses a bad pair
  options.min_bytes = size_option("--min", arguments.min);
  options.max_bytes = size_option("--max", arguments.max);
  (void)sweep(options);  // refuses a bad range before anything joins
  const bool prints = options.job.ranks().front() == 0;
  if (prints && !arguments.json) print_heading(options);
  const auto rows = run_bench(options, [&](const BenchRow& row) {
    if (prints && !arguments.json) print_row(options, row);
  });
  std::uint64_t wrong = 0;
  double busbw = 0;
  for (const BenchRow& row : rows) {
    wrong += row.wrong;
    busbw += row.busbw_gbps / static_cast<double>(rows.size());
  }
  if (prints && arguments.json) print_json(options, rows);
  if (prints && !arguments.json)
    std::printf("# wrong elements: %llu %s\n# average bus bandwidth: %.3f GB/s\n",
                static_cast<unsigned long long>(wrong), wrong == 0 ? "OK" : "FAILED", busbw);
  return wrong == 0 ? 0 : kExitFailed;
}

void add_sweep_options(cli::App& command, Arguments& arguments) {
  command.add_option("--min", arguments.min, "Smallest size in bytes; K, M, G: powers of 1,024")
      ->capture_default_str()
      ->type_name("BYTES");
  command.add_option("--max", arguments.max, "Largest size in bytes")
      ->capture_default_str()
      ->type_name("BYTES");
  command.add_option("--factor", arguments.options.factor, "From one size to the next")
      ->check(cli::range(2, 1024))
      ->capture_default_str()
      ->type_name("K");
  add_dtype_option(command, arguments.options.dtype);
  add_op_option(command, arguments.options.op);
  command.add_option("--iters", arguments.options.iterations, "Measured iterations of each size")
      ->check(cli::range(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--warmup", arguments.options.warmup, "Iterations of each size before those")
      ->check(cli::range(0, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
}

}  // namespace

void add_bench(cli::App& app, int& exit_status) {
  auto arguments = std::make_shared<Arguments>();
  cli::App* bench = app.add_subcommand("bench", "Measure collectives through a switch");
  bench->require_subcommand(1);
  cli::App* command = bench->add_subcommand(
      "allreduce",
      "Measure allreduce over a range of sizes\n\n"
      "Prints the columns of nccl-tests, from rank 0: time is the mean of an\n"
      "iteration, algbw is size / time, busbw is algbw x 2 (n - 1) / n. Data is\n"
      "generated and every iteration checked, outside of the time.");
  add_job_options(*command, arguments->options.job);
  auto* rank = add_rank_option(*command, arguments->options.job);
  auto* local = command->add_flag("--local", arguments->local,
                                  "Run all ranks in this process, a thread each");
  rank->excludes(local);
  add_sweep_options(*command, *arguments);
  command->add_flag("--json", arguments->json, "Print a JSON list of rows instead of a table");
  command->footer(
      "Examples:\n"
      "  tributary bench allreduce --job 1 --size 4 --local --address udp://10.77.0.254\n"
      "  tributary bench allreduce --job 1 --size 4 --rank 2 --address udp://10.77.0.254 \\\n"
      "      --min 64K --max 64M --factor 2\n"
      "All ranks must be given the same range, type, operation and iterations.\n"
      "Exit status: 0 if every result was right; 1 if not; 2 bad command line.");
  command->callback([arguments, rank, &exit_status] {
    if (!arguments->local && rank->count() == 0)
      throw cli::UsageError("bench allreduce", "give --rank R, or --local to run all ranks");
    exit_status = run(*arguments);
  });
}

}  // namespace tributary::client
