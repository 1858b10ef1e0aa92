// The scheduler's part of suite `placement`: 1,000 pods over 100 nodes with 16 devices each, over
// an SQLite store, 100 at a time; the commits are in the time.
//
// Bar: 100 ms for each of the last 100. The rows are verified when no device was given twice.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "manager/service/pod_service.h"
#include "manager/store/sqlite_store.h"

namespace tributary::bench {
namespace {

using manager::PodService;

constexpr std::size_t kNodes = 100;
constexpr std::size_t kDevices = 16;
constexpr std::size_t kPods = 1000;
constexpr std::size_t kAtOnce = 100;
constexpr double kBarMs = 100;

manager::NodeReport report_of(std::size_t number) {
  manager::Node node;
  node.name = "node" + std::to_string(number);
  node.leaf = "leaf" + std::to_string(number / 10);
  node.cpu_millis = 64'000;
  node.memory_bytes = 256ull << 30;
  for (std::size_t i = 0; i < kDevices; ++i)
    node.devices.push_back({.name = "npu" + std::to_string(i),
                            .kind = "example.com/npu",
                            .memory_bytes = 16ull << 30,
                            .free_bytes = 16ull << 30});
  return {.figures = std::move(node), .applied = 0, .instances = {}};
}

std::string manifest_of(std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < first + kAtOnce; ++i)
    text += "---\n{apiVersion: v1, kind: Pod, metadata: {name: p" + std::to_string(i) +
            "}, spec: {containers: [{name: main, image: 'rootfs:busybox', resources: {limits: "
            "{example.com/npu: 1}}}]}}\n";
  return text;
}

struct Folder {
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "placement-bench-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

struct Round {
  double last_ms = 0;  // a pod of the last 100
  double fewest = 0;   // pods of a node
  double most = 0;
  bool right = false;
};

Round place_all() {
  const Folder folder;
  manager::SqliteStore store(folder.path / "state.db");
  const Instant now = Instant::from_ns(1);
  PodService service(
      store, {}, [](const auto&, const auto&, const auto&) {}, now);
  for (std::size_t i = 0; i < kNodes; ++i)
    service.report("node" + std::to_string(i), report_of(i), now);
  Round round;
  for (std::size_t first = 0; first < kPods; first += kAtOnce) {
    service.create(manager::parse_manifest(manifest_of(first), "bench"), now);
    const auto began = std::chrono::steady_clock::now();
    service.schedule({}, now);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    round.last_ms = took.count() / kAtOnce;
  }
  // A claim's key is its device: as many claims as pods, and none is given twice.
  round.right = store.list("claims/").size() == kPods;
  std::map<std::string, double> pods;
  for (const auto& [name, record] : service.book().pods()) {
    round.right &= record.devices.size() == 1;
    ++pods[record.node];
  }
  round.right &= pods.size() == kNodes && !pods.contains("");
  const auto [least, most] = std::minmax_element(
      pods.begin(), pods.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  round.fewest = least->second;
  round.most = most->second;
  return round;
}

Row row_of(const std::vector<double>& values, double reference) {
  Row row;
  row.suite = "placement";
  row.case_name = "1,000 pods over 100 nodes with 16 devices each";
  row.value = median(values);
  row.reference_value = reference;
  row.runs = values.size();
  row.min = *std::min_element(values.begin(), values.end());
  row.max = *std::max_element(values.begin(), values.end());
  return row;
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv, "time to place a pod in a large cluster");
  Report report(options);
  std::vector<double> last, fewest, most;
  bool right = true;
  for (std::size_t i = 0; i < (options.quick ? 3u : 5u); ++i) {
    const Round round = place_all();
    last.push_back(round.last_ms);
    fewest.push_back(round.fewest);
    most.push_back(round.most);
    right &= round.right;
  }
  Row time = row_of(last, kBarMs);
  time.metric = "a pod of the last 100, with its commit, bar 100 ms";
  time.unit = "ms";
  time.reference = "the bar";
  time.ratio = kBarMs / time.value;
  time.verified = right && time.value <= kBarMs;
  report.add(time);
  Row fair = row_of(fewest, median(most));
  fair.metric = "pods of the node that has fewest";
  fair.unit = "pods";
  fair.reference = "that has most";
  fair.ratio = fair.value / fair.reference_value;
  fair.verified = right;
  report.add(fair);
  return report.exit_code();
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  return tributary::bench::run(argc, argv);
}
