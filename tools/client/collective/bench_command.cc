// `tributary bench COLLECTIVE`: nccl-tests' table from rank 0.
#include <iostream>
#include <memory>

#include "tools/client/collective/bench.h"
#include "tools/client/collective/bench_table.h"
#include "tools/client/collective/generated.h"
#include "tools/client/collective/job_options.h"
#include "tools/client/commands.h"

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

void print(const std::string& lines) {
  std::cout << lines << std::flush;
}

int run(Arguments& arguments) {
  BenchOptions& options = arguments.options;
  check_job_options(options.job);
  if (options.root >= options.job.size)
    throw cli::UsageError("--root " + std::to_string(options.root),
                          "allowed: 0 to " + std::to_string(options.job.size - 1));
  // Refuses a bad pair, and below a bad range, before anything joins.
  (void)Generated(options.collective, options.dtype, options.op, 0, options.job.size, 0);
  options.min_bytes = size_option("--min", arguments.min);
  options.max_bytes = size_option("--max", arguments.max);
  (void)sweep(options);
  const bool prints = options.job.ranks().front() == 0;
  const bool table = prints && !arguments.json;
  if (table) print(bench_heading(options));
  const auto rows = run_bench(options, [&](const BenchRow& row) {
    if (!table) return;
    print(bench_line(options, row) + (options.job.stages ? stage_lines(options, row) : ""));
  });
  if (table) print(bench_footer(options, rows));
  if (prints && arguments.json) std::cout << bench_json(options, rows).dump(2) << '\n';
  return wrong_elements(rows) == 0 ? 0 : kExitFailed;
}

void add_sweep_options(cli::App& command, Arguments& arguments) {
  command
      .add_option("--min", arguments.min,
                  "Smallest size in bytes, of all parts where there are parts;\n"
                  "K, M, G: powers of 1,024")
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
  if (reduces(arguments.options.collective)) add_op_option(command, arguments.options.op);
  if (has_root(arguments.options.collective))
    command.add_option("--root", arguments.options.root, "Rank that has the data, or the result")
        ->capture_default_str()
        ->type_name("R");
}

void add_iteration_options(cli::App& command, Arguments& arguments) {
  command.add_option("--iters", arguments.options.iterations, "Measured iterations of each size")
      ->check(cli::range(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--warmup", arguments.options.warmup, "Iterations of each size before those")
      ->check(cli::range(0, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--stages", arguments.options.job.stages,
                   "Show where this rank's time goes: session (heads, CRCs, timers),\n"
                   "send, wait, receive, unpack");
  command.add_flag("--json", arguments.json, "Print a JSON list of rows instead of a table");
}

const char* bus_text(wire::Collective collective) {
  switch (collective) {
    case wire::Collective::allreduce: return "busbw is algbw x 2 (n - 1) / n";
    case wire::Collective::all_gather:
    case wire::Collective::reduce_scatter: return "busbw is algbw x (n - 1) / n";
    default: return "busbw is algbw";
  }
}

std::string description(wire::Collective collective) {
  const std::string name = wire::name_of(collective);
  if (collective == wire::Collective::barrier)
    return "Measure the barrier\n\nTime is the mean of an iteration, from rank 0.";
  return "Measure " + name +
         " over a range of sizes\n\n"
         "Prints the columns of nccl-tests, from rank 0: time is the mean of an\n"
         "iteration, algbw is size / time, " +
         bus_text(collective) +
         ".\nData is generated and every iteration checked, outside of the time.";
}

std::string footer(const std::string& name) {
  return "Examples:\n"
         "  tributary bench " +
         name +
         " --job 1 --size 4 --local --address udp://10.77.0.254\n"
         "  tributary bench " +
         name +
         " --job 1 --size 4 --rank 2 --address udp://10.77.0.254 --iters 100\n"
         "All ranks must be given the same range, type, operation and iterations.\n"
         "Exit status: 0 if every result was right; 1 if not; 2 bad command line.";
}

void add_collective(cli::App& bench, wire::Collective collective, int& exit_status) {
  auto arguments = std::make_shared<Arguments>();
  arguments->options.collective = collective;
  const std::string name = wire::name_of(collective);
  cli::App* command = bench.add_subcommand(name, description(collective));
  add_job_options(*command, arguments->options.job);
  auto* rank = add_rank_option(*command, arguments->options.job);
  auto* local = command->add_flag("--local", arguments->local,
                                  "Run all ranks in this process, a thread each");
  rank->excludes(local);
  if (collective != wire::Collective::barrier) add_sweep_options(*command, *arguments);
  add_iteration_options(*command, *arguments);
  command->footer(footer(name));
  command->callback([arguments, rank, name, &exit_status] {
    if (!arguments->local && rank->count() == 0)
      throw cli::UsageError("bench " + name, "give --rank R, or --local to run all ranks");
    exit_status = run(*arguments);
  });
}

}  // namespace

void add_bench(cli::App& app, int& exit_status) {
  cli::App* bench = app.add_subcommand("bench", "Measure collectives through a switch");
  bench->require_subcommand(1);
  for (const wire::Collective collective :
       {wire::Collective::allreduce, wire::Collective::reduce, wire::Collective::broadcast,
        wire::Collective::all_gather, wire::Collective::reduce_scatter, wire::Collective::barrier})
    add_collective(*bench, collective, exit_status);
}

}  // namespace tributary::client
