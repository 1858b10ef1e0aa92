// Loads or generates a rank's array, runs the collective, compares what came out.
#include "tools/client/collective/allreduce.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "tools/client/collective/generated.h"
#include "tools/client/collective/interrupt.h"
#include "tools/client/collective/op_delay.h"

namespace tributary::client {
namespace {

using wire::Collective;

// One rank's memory. `output` is empty where the collective works in place.
struct Arrays {
  NpyArray data;
  NpyArray output;
  [[nodiscard]] const NpyArray& result(bool in_place) const { return in_place ? data : output; }
};

std::vector<Arrays> load(const AllreduceOptions& options, std::size_t ranks) {
  if (options.inputs.size() != ranks)
    throw std::invalid_argument(std::to_string(options.inputs.size()) + " input files for " +
                                std::to_string(ranks) +
                                " ranks; give one .npy for each rank that runs here");
  std::vector<Arrays> arrays;
  for (const std::string& path : options.inputs) {
    arrays.push_back({read_npy(path), {}});
    const NpyArray& first = arrays.front().data;
    const NpyArray& last = arrays.back().data;
    if (last.dtype != first.dtype || last.shape != first.shape)
      throw std::invalid_argument(path + " is " + wire::name_of(last.dtype) +
                                  shape_text(last.shape) + ", but " + options.inputs.front() +
                                  " is " + wire::name_of(first.dtype) + shape_text(first.shape) +
                                  "; all ranks need the same dtype and shape");
  }
  return arrays;
}

Generated generated_of(const AllreduceOptions& o) {
  return {o.collective, o.dtype, o.op, o.root, o.job.size, o.count};
}

std::vector<Arrays> generate(const AllreduceOptions& options,
                             const std::vector<std::uint32_t>& ranks) {
  const Generated generated = generated_of(options);
  std::vector<Arrays> arrays(ranks.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    NpyArray& data = arrays[i].data;
    data.dtype = options.dtype;
    data.shape = {options.count};
    if (options.collective == Collective::reduce_scatter)
      data.shape.insert(data.shape.begin(), options.job.size);
    data.data.resize(generated.input_elements() * wire::size_of(options.dtype));
    generated.fill(data.data, ranks[i], 0);
  }
  return arrays;
}

// Elements of a part, and room for the result.
std::size_t prepare(const AllreduceOptions& options, Arrays& arrays) {
  const NpyArray& data = arrays.data;
  NpyArray& output = arrays.output;
  output.dtype = data.dtype;
  output.shape = data.shape;
  const std::size_t ranks = options.job.size;
  if (options.collective == Collective::all_gather) {
    output.shape.insert(output.shape.begin(), ranks);
    output.data.resize(data.data.size() * ranks);
  }
  if (options.collective != Collective::reduce_scatter) return data.count();
  if (data.count() % ranks != 0)
    throw std::invalid_argument("reduce_scatter of " + std::to_string(data.count()) +
                                " elements over " + std::to_string(ranks) +
                                " ranks; the parts must be equal");
  output.shape = {data.count() / ranks};
  if (!data.shape.empty() && data.shape[0] == ranks)
    output.shape.assign(data.shape.begin() + 1, data.shape.end());
  output.data.resize(data.data.size() / ranks);
  return data.count() / ranks;
}

}  // namespace

AllreduceReport run_allreduce(const AllreduceOptions& options, const CommunicatorFactory& create) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::uint32_t> ranks = options.job.ranks();
  const bool generated = options.inputs.empty();
  std::vector<Arrays> arrays = generated ? generate(options, ranks) : load(options, ranks.size());
  std::size_t count = 0;
  for (Arrays& a : arrays) count = prepare(options, a);
  std::vector<Clock::duration> elapsed(arrays.size());

  run_ranks(
      options.job,
      [&](Communicator& communicator) {
        const std::size_t i = communicator.rank() - ranks.front();
        Arrays& mine = arrays[i];
        OpDelay(options.job.delay, options.job.delay_file).before_op();
        const auto begin = Clock::now();
        finish(
            communicator.start({options.collective, mine.data.data.data(), mine.output.data.data(),
                                count, mine.data.dtype, options.op, options.root}));
        elapsed[i] = Clock::now() - begin;
      },
      create);

  const bool place = in_place_alone(options.collective);
  const bool same =
      options.collective != Collective::reduce && options.collective != Collective::reduce_scatter;
  AllreduceReport report;
  report.ranks_here = arrays.size();
  report.elapsed_ns = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(*std::max_element(elapsed.begin(), elapsed.end())).count());
  std::size_t shown = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const NpyArray& result = arrays[i].result(place);
    if (same && result.data != arrays.front().result(place).data) report.identical = false;
    if (options.collective == Collective::reduce && ranks[i] == options.root) shown = i;
    if (!generated) continue;
    report.wrong += generated_of(options).count_wrong(result.data, ranks[i], 0);
    report.checked += result.count();
  }
  report.result = std::move(place ? arrays[shown].data : arrays[shown].output);
  if (!options.output.empty()) write_npy(options.output, report.result);
  return report;
}

}  // namespace tributary::client
