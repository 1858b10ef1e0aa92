// Loads or generates a rank's array, sums it with the others', compares what came out.
#include "tools/client/allreduce.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "tools/client/pattern.h"

namespace tributary::client {
namespace {

std::vector<NpyArray> load(const AllreduceOptions& options, std::size_t ranks) {
  if (options.inputs.size() != ranks)
    throw std::invalid_argument(std::to_string(options.inputs.size()) + " input files for " +
                                std::to_string(ranks) +
                                " ranks; give one .npy for each rank that runs here");
  std::vector<NpyArray> arrays;
  for (const std::string& path : options.inputs) {
    arrays.push_back(read_npy(path));
    const NpyArray& first = arrays.front();
    const NpyArray& last = arrays.back();
    if (last.dtype != first.dtype || last.shape != first.shape)
      throw std::invalid_argument(path + " is " + wire::name_of(last.dtype) +
                                  shape_text(last.shape) + ", but " + options.inputs.front() +
                                  " is " + wire::name_of(first.dtype) + shape_text(first.shape) +
                                  "; all ranks need the same dtype and shape");
  }
  return arrays;
}

std::vector<NpyArray> generate(const AllreduceOptions& options,
                               const std::vector<std::uint32_t>& ranks) {
  std::vector<NpyArray> arrays(ranks.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    arrays[i].dtype = options.dtype;
    arrays[i].shape = {options.count};
    arrays[i].data.resize(options.count * wire::size_of(options.dtype));
    fill_pattern(arrays[i].data, options.dtype, ranks[i], 0);
  }
  return arrays;
}

}  // namespace

AllreduceReport run_allreduce(const AllreduceOptions& options, const CommunicatorFactory& create) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::uint32_t> ranks = options.job.ranks();
  const bool generated = options.inputs.empty();
  std::vector<NpyArray> arrays = generated ? generate(options, ranks) : load(options, ranks.size());
  std::vector<Clock::duration> elapsed(arrays.size());

  run_ranks(
      options.job,
      [&](Communicator& communicator) {
        const std::size_t i = communicator.rank() - ranks.front();
        NpyArray& array = arrays[i];
        const auto begin = Clock::now();
        communicator.allreduce(array.data.data(), array.count(), array.dtype, wire::ReduceOp::sum)
            .wait();
        elapsed[i] = Clock::now() - begin;
      },
      create);

  AllreduceReport report;
  report.ranks_here = arrays.size();
  report.elapsed_ns = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(*std::max_element(elapsed.begin(), elapsed.end())).count());
  for (const NpyArray& array : arrays) {
    report.identical = report.identical && array.data == arrays.front().data;
    if (generated) report.wrong += count_wrong(array.data, array.dtype, options.job.size, 0);
  }
  report.sum = std::move(arrays.front());
  if (!options.output.empty()) write_npy(options.output, report.sum);
  return report;
}

}  // namespace tributary::client
