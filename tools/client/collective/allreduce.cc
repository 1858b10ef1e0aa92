// Loads or generates a rank's array, runs the collective, compares what came out.
#include "tools/client/collective/allreduce.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "tools/client/collective/interrupt.h"
#include "tools/client/collective/op_delay.h"
#include "tools/client/collective/pattern.h"

namespace tributary::client {
namespace {

using wire::Collective;

// One rank's memory. `output` is empty where the collective works in place.
struct Arrays {
  NpyArray data;
  NpyArray output;
  [[nodiscard]] const NpyArray& result(bool in_place) const { return in_place ? data : output; }
};

bool in_place(Collective collective) {
  return collective != Collective::all_gather && collective != Collective::reduce_scatter;
}

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

// Moves reduce nothing; any operation that the type has would do for their values.
Pattern pattern_of(const AllreduceOptions& o) {
  const bool moves =
      o.collective == Collective::broadcast || o.collective == Collective::all_gather;
  return {o.dtype, moves ? wire::ReduceOp::max : o.op, o.job.size};
}

std::vector<Arrays> generate(const AllreduceOptions& options,
                             const std::vector<std::uint32_t>& ranks) {
  const Pattern pattern = pattern_of(options);
  std::vector<Arrays> arrays(ranks.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    NpyArray& data = arrays[i].data;
    data.dtype = options.dtype;
    data.shape = {options.count};
    if (options.collective == Collective::reduce_scatter)
      data.shape.insert(data.shape.begin(), options.job.size);
    std::size_t elements = 1;
    for (const std::size_t n : data.shape) elements *= n;
    data.data.resize(elements * wire::size_of(options.dtype));
    pattern.fill(data.data, ranks[i], 0);
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

std::uint64_t count_wrong(const AllreduceOptions& options, const Arrays& arrays,
                          std::uint32_t rank) {
  const Pattern pattern = pattern_of(options);
  const std::span<const std::byte> output = arrays.output.data;
  switch (options.collective) {
    case Collective::broadcast: return pattern.count_wrong_of(options.root, arrays.data.data, 0);
    case Collective::reduce:
      if (rank != options.root) return pattern.count_wrong_of(rank, arrays.data.data, 0);
      break;
    case Collective::reduce_scatter:
      return pattern.count_wrong(output, 0, std::uint64_t{rank} * options.count);
    case Collective::all_gather: {
      std::uint64_t wrong = 0;
      const std::size_t part = arrays.data.data.size();
      for (std::uint32_t r = 0; r < options.job.size; ++r)
        wrong += pattern.count_wrong_of(r, output.subspan(r * part, part), 0);
      return wrong;
    }
    default: break;
  }
  return pattern.count_wrong(arrays.data.data, 0);
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

  const bool place = in_place(options.collective);
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
    report.wrong += count_wrong(options, arrays[i], ranks[i]);
    report.checked += result.count();
  }
  report.result = std::move(place ? arrays[shown].data : arrays[shown].output);
  if (!options.output.empty()) write_npy(options.output, report.result);
  return report;
}

}  // namespace tributary::client
