// A member of a task for tests/system/test_task_workers.py. A worker pulls the state towards a
// target of its own, as task_member.py there does, and says what it did.
//
//   task_worker_tool main WORKERS ADDRESS [KEEP [PUBLISH [STATE]]]
//   task_worker_tool RANK WORKERS ADDRESS [ROUND]
//
// Main says how arrays are kept, the tensor that the sums get, "" for none, and its folder. A
// worker ends with an error after that round.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "worker/task/task_main.h"
#include "worker/task/task_worker.h"

namespace {

using tributary::TaskArray;

constexpr std::size_t kElements = 5;

struct Stated {
  std::string keep;
  std::string publish;
  std::string state;
};

TaskArray array_of(const std::vector<double>& values) {
  return TaskArray::of(std::span<const double>(values), tributary::wire::DType::float64);
}

// Of the parts, in the order of their ranks, where the task keeps them.
std::vector<double> sum_of(const tributary::TaskRound& round) {
  const auto parts = round.parts.values<double>();
  std::vector<double> sum(kElements);
  for (std::size_t i = 0; i < parts.size(); ++i) sum[i % kElements] += parts[i];
  if (round.sum.dtype == tributary::wire::DType::none) return sum;
  const auto total = round.sum.values<double>();
  return {total.begin(), total.end()};
}

void work(std::uint32_t rank, std::uint32_t workers, const char* address, std::uint32_t fail_in) {
  tributary::TaskWorkerOptions options;
  options.job = {.job = 1, .rank = rank + 1, .size = workers + 1, .address = address};
  options.sums = {.job = 2, .rank = rank, .size = workers, .address = address};
  tributary::TaskWorker worker(options);
  worker.receive();
  std::printf("task of %zu bytes, %s, round %u\n", worker.data().size(), worker.metadata().c_str(),
              worker.last() ? worker.last()->number : 0);
  std::fflush(stdout);
  std::vector<double> state(kElements);
  if (worker.state()) {
    const auto given = worker.state()->values<double>();
    state.assign(given.begin(), given.end());
  }
  while (!worker.final()) {
    std::vector<double> pull(kElements);
    for (std::size_t i = 0; i < kElements; ++i) pull[i] = state[i] - static_cast<double>(rank + i);
    worker.submit(array_of(pull), array_of(state));
    const auto sum = sum_of(worker.next_round());
    for (std::size_t i = 0; i < kElements; ++i) state[i] -= 0.0625 * sum[i];
    if (worker.last()->number == fail_in) return worker.fail("no such sample");
  }
  if (!worker.put_refusal().empty()) std::printf("refused: %s\n", worker.put_refusal().c_str());
  std::printf("final: %s after %u rounds\n", worker.last()->why.c_str(), worker.last()->number);
  std::fflush(stdout);
  if (worker.last()->sum.dtype == tributary::wire::DType::none) state[0] = rank;  // its own
  worker.deliver(array_of(state));
  std::puts("delivered");
  std::fflush(stdout);
  worker.close();
}

void print(const TaskArray& array) {
  const char* between = "[";
  for (const double value : array.values<double>()) {
    std::printf("%s%s", between, tributary::task::python_float(value).c_str());
    between = ", ";
  }
  std::puts("]");
}

void lead(std::uint32_t workers, const char* address, const Stated& stated) {
  std::vector<std::byte> data;
  for (std::size_t i = 0; i < 9000 * 256; ++i) data.push_back(static_cast<std::byte>(i));
  tributary::TaskMain leader({.job = 1, .rank = 0, .size = workers + 1, .address = address},
                             tributary::Duration::seconds(600), stated.state);
  tributary::TaskStatement statement;
  statement.keep = stated.keep;
  statement.publish = stated.publish;
  statement.cache = true;
  statement.criterion.most_rounds = stated.keep == "worker" ? 3 : 500;
  if (stated.keep != "worker") statement.criterion.norm_below = 1e-9;
  statement.metadata = R"({"rate": 1})";
  leader.distribute(data, statement);
  std::puts("distributed");
  std::fflush(stdout);
  const tributary::TaskResult result = leader.result();
  std::printf("%s after %u rounds: ", result.why.c_str(), result.rounds);
  print(result.array);
  for (std::size_t i = 1; i < result.arrays.size(); ++i) print(result.arrays[i]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 7) return 2;
  try {
    const auto workers = static_cast<std::uint32_t>(std::atoi(argv[2]));
    if (argv[1] == std::string_view("main"))
      lead(workers, argv[3],
           {argc > 4 ? argv[4] : "sum", argc > 5 ? argv[5] : "", argc > 6 ? argv[6] : ""});
    else
      work(static_cast<std::uint32_t>(std::atoi(argv[1])), workers, argv[3],
           argc > 4 ? static_cast<std::uint32_t>(std::atoi(argv[4])) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
