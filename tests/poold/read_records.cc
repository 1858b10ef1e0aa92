// A loader for tests on machines without Python: reads every record of a pool, and checks it.
//
//   read_records make FILE RECORDS BYTES     writes records whose bytes follow from their numbers
//   read_records read CONFIG BATCH COMMAND   connects, runs `COMMAND connected`, reads them
//                                            in random order, says how it went, and runs
//                                            `COMMAND read`
//   read_records repeat CONFIG BATCH         reads batches in random order until SIGTERM, whatever
//                                            the nodes do; says now and then, in JSON, how many
//                                            records were right and wrong, and batches failed
//   read_records doors CONFIG CONFIG         reads that the node has to refuse, by readers of two
//                                            tenants
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/prng.h"
#include "pool/loader/loader.h"
#include "tests/poold/try_doors.h"

namespace {

using namespace tributary;

void fill(std::uint64_t id, std::span<std::byte> record) {
  Prng prng(id + 1);
  for (std::byte& b : record) b = static_cast<std::byte>(prng.next());
}

void make(const std::string& file, std::uint64_t records, std::size_t bytes) {
  std::ofstream out(file, std::ios::binary);
  std::vector<std::byte> record(bytes);
  for (std::uint64_t id = 0; id < records; ++id) {
    fill(id, record);
    out.write(reinterpret_cast<const char*>(record.data()), static_cast<std::streamsize>(bytes));
  }
  if (!out.flush()) throw std::runtime_error(file + ": cannot be written");
}

void run(const std::string& command) {
  std::fflush(stdout);
  if (std::system(command.c_str()) != 0) throw std::runtime_error("'" + command + "' failed");
}

bool read(const std::string& config, std::size_t batch, const std::string& command) {
  pool::Loader loader(pool::load_pool_config(config));
  // A machine that is emulated on a busy one may miss a loader's usual patience.
  const auto up = [](const pool::NodeState& node) { return node.up; };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (!std::ranges::all_of(loader.nodes(), up) && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  for (const pool::NodeState& node : loader.nodes())
    std::printf("node %s by %s %s\n", node.name.c_str(), node.transport.c_str(),
                node.problem.c_str());
  run(command + " connected");
  std::vector<std::uint64_t> ids(loader.records());
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), std::mt19937_64(1));
  const std::size_t length = loader.length(0);
  std::vector<std::byte> buffer(batch * length);
  std::vector<std::byte> expected(length);
  loader.register_buffer(buffer);
  std::uint64_t wrong = 0;
  for (std::size_t at = 0; at < ids.size(); at += batch) {
    const std::size_t count = std::min(batch, ids.size() - at);
    std::vector<std::span<std::byte>> targets;
    for (std::size_t i = 0; i < count; ++i)
      targets.push_back(std::span(buffer).subspan(i * length, length));
    std::fill(buffer.begin(), buffer.end(), std::byte{0});
    try {
      loader.get_batch(std::span(ids).subspan(at, count), targets);
    } catch (const pool::LoadError&) {
      for (const pool::NodeState& node : loader.nodes())
        std::printf("node %s: %s\n", node.name.c_str(), node.problem.c_str());
      throw;
    }
    for (std::size_t i = 0; i < count; ++i) {
      fill(ids[at + i], expected);
      wrong += std::equal(expected.begin(), expected.end(), targets[i].begin()) ? 0 : 1;
    }
  }
  loader.unregister_buffer(buffer.data());
  const pool::LoadCounters counters = loader.counters();
  std::printf("%zu records, %llu wrong, %llu from the pool\n", ids.size(),
              static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(counters.hits));
  run(command + " read");
  return wrong == 0;
}

// Reads batches and counts their records.
struct Batches {
  std::uint64_t right = 0, wrong = 0, failed = 0;

  void read(pool::Loader& loader, std::span<const std::uint64_t> ids, std::span<std::byte> buffer) {
    const std::size_t length = loader.length(0);
    std::vector<std::span<std::byte>> targets;
    for (std::size_t i = 0; i < ids.size(); ++i)
      targets.push_back(buffer.subspan(i * length, length));
    std::ranges::fill(buffer, std::byte{0});
    try {
      loader.get_batch(ids, targets);
    } catch (const std::exception& error) {
      if (failed++ == 0) std::printf("first failure: %s\n", error.what());
      return;
    }
    std::vector<std::byte> expected(length);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      fill(ids[i], expected);
      ++(std::ranges::equal(expected, targets[i]) ? right : wrong);
    }
  }
  void print() const {
    std::printf("{\"done\": %llu, \"wrong\": %llu, \"failed\": %llu}\n",
                static_cast<unsigned long long>(right), static_cast<unsigned long long>(wrong),
                static_cast<unsigned long long>(failed));
    std::fflush(stdout);
  }
};

volatile std::sig_atomic_t ended = 0;

bool repeat(const std::string& config, std::size_t batch) {
  pool::Loader loader(pool::load_pool_config(config));
  std::signal(SIGTERM, [](int) { ended = 1; });
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> ids(batch);
  std::vector<std::byte> buffer(batch * loader.length(0));
  loader.register_buffer(buffer);
  Batches batches;
  auto next = std::chrono::steady_clock::now();
  while (batches.wrong == 0 && ended == 0) {
    for (std::uint64_t& id : ids) id = random() % loader.records();
    batches.read(loader, ids, buffer);
    if (std::chrono::steady_clock::now() < next) continue;
    batches.print();
    next = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  }
  batches.print();
  loader.unregister_buffer(buffer.data());
  return batches.wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 4 && words[0] == "make") {
      make(words[1], std::stoull(words[2]), std::stoull(words[3]));
      return 0;
    }
    if (words.size() == 4 && words[0] == "read")
      return read(words[1], std::stoull(words[2]), words[3]) ? 0 : 1;
    if (words.size() == 3 && words[0] == "repeat")
      return repeat(words[1], std::stoull(words[2])) ? 0 : 1;
    if (words.size() == 3 && words[0] == "doors") return try_doors(words[1], words[2]) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "read_records: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr,
               "usage: read_records make FILE RECORDS BYTES | read CONFIG BATCH COMMAND | "
               "repeat CONFIG BATCH | doors CONFIG CONFIG\n");
  return 2;
}
