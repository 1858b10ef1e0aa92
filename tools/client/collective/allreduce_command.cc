// `tributary allreduce`: a .npy per rank in, the sum out.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

#include "tools/client/collective/allreduce.h"
#include "tools/client/collective/job_options.h"
#include "tools/client/commands.h"

namespace tributary::client {
namespace {

struct Arguments {
  AllreduceOptions options;
};

std::uint64_t parse_count(const std::string& text) {
  const auto count = parse_size(text);
  if (!count || *count > (std::uint64_t{1} << 36))
    throw cli::UsageError("--count " + text,
                          "allowed: a number of elements, e.g. 1000, 64K, 16M; at most 64G");
  return *count;
}

// "sum", "broadcast", "reduce_scatter of max".
std::string what(const AllreduceOptions& options) {
  std::string collective = wire::name_of(options.collective);
  switch (options.collective) {
    case wire::Collective::allreduce: return wire::name_of(options.op);
    case wire::Collective::reduce:
    case wire::Collective::reduce_scatter: return collective + " of " + wire::name_of(options.op);
    default: return collective;
  }
}

int run(Arguments& arguments) {
  AllreduceOptions& options = arguments.options;
  check_job_options(options.job);
  if (options.root >= options.job.size)
    throw cli::UsageError("--root " + std::to_string(options.root),
                          "allowed: 0 to " + std::to_string(options.job.size - 1));
  const auto ranks = options.job.ranks();
  if (options.collective == wire::Collective::reduce && !options.output.empty() &&
      std::find(ranks.begin(), ranks.end(), options.root) == ranks.end())
    throw cli::UsageError("--output", "only the root of a reduce has the result");
  const AllreduceReport report = run_allreduce(options);
  const double seconds = static_cast<double>(report.elapsed_ns) * 1e-9;
  const double gigabytes = static_cast<double>(report.result.data.size()) * 1e-9;
  std::printf("job %u: %s over %u ranks (%zu here) of %s%s in %.3f ms, %.3f GB/s\n",
              options.job.job, what(options).c_str(), options.job.size, report.ranks_here,
              wire::name_of(report.result.dtype), shape_text(report.result.shape).c_str(),
              seconds * 1e3, seconds > 0 ? gigabytes / seconds : 0.0);
  if (!options.output.empty()) std::printf("written to %s\n", options.output.c_str());
  if (options.inputs.empty())
    std::printf("checked: %llu of %llu elements wrong\n",
                static_cast<unsigned long long>(report.wrong),
                static_cast<unsigned long long>(report.checked));
  if (!report.identical) std::cerr << "tributary: ranks received different results\n";
  return report.wrong == 0 && report.identical ? 0 : kExitFailed;
}

}  // namespace

void add_allreduce(cli::App& app, int& exit_status) {
  auto arguments = std::make_shared<Arguments>();
  cli::App* command = app.add_subcommand(
      "allreduce",
      "Sum arrays of all ranks of a job through a switch, or another collective\n\n"
      "Without --rank, all ranks run in this process, a thread each. With it, this\n"
      "process is one rank and waits for the others.");
  add_job_options(*command, arguments->options.job);
  add_rank_option(*command, arguments->options.job);
  auto* input = command
                    ->add_option("--input", arguments->options.inputs,
                                 "Arrays, in the order of ranks; one file with --rank.\n"
                                 "Numbers or bool, little-endian, C order")
                    ->type_name("NPY");
  command->add_option("--output", arguments->options.output, "Write the result to this file")
      ->type_name("NPY");
  auto* count = command
                    ->add_parsed(
                        "--count",
                        [arguments](const std::string& text) {
                          arguments->options.count = parse_count(text);
                        },
                        "Instead of --input: this many generated elements (K, M, G:\n"
                        "powers of 1,024; of one part for all_gather and reduce_scatter),\n"
                        "whose result is checked")
                    ->type_name("N");
  count->excludes(input);
  add_dtype_option(*command, arguments->options.dtype)->excludes(input);
  add_op_option(*command, arguments->options.op);
  add_collective_option(*command, arguments->options.collective);
  command->add_option("--root", arguments->options.root, "Root rank of reduce and broadcast")
      ->capture_default_str()
      ->type_name("R");
  command->footer(
      "Examples:\n"
      "  tributary allreduce --job 1 --size 2 --address udp://10.77.0.254 \\\n"
      "      --input a.npy b.npy --output sum.npy\n"
      "  tributary allreduce --job 1 --size 4 --rank 0 --address udp://10.77.0.254 --count 1M\n"
      "  tributary allreduce --job 1 --size 4 --count 1M \\\n"
      "      --address 'memif:///run/tributary/memif.sock?id={rank}&switch=10.77.0.254'\n"
      "Exit status: 0 if every rank here has the result; 1 if not; 2 bad command line.");
  command->callback([arguments, input, count, &exit_status] {
    if (input->count() == 0 && count->count() == 0)
      throw cli::UsageError("allreduce", "give --input files or a --count of elements");
    exit_status = run(*arguments);
  });
}

}  // namespace tributary::client
