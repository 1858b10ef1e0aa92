// Suite `manager`: the time of one decision and of one renewal in a cluster of 1,024 switches and
// 65,536 workers with 1,000 jobs, each of a submission's commits in its store included.
//
//   root ─ 31 ─ 992 leaves of 66 workers, 64 of them with one more
//
// The bar is 50 ms for each; ratios are of the bar to the median, so 1 or more is within it. A row
// is verified if each decision in it was right.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.h"
#include "manager/service/service.h"
#include "manager/store/sqlite_store.h"

namespace tributary::bench {
namespace {

std::string numbered(std::string_view word, std::size_t number) {
  std::string text(word);
  return text.append(std::to_string(number));
}

using manager::Service;

constexpr std::size_t kMiddle = 31;
constexpr std::size_t kLeaves = 992;
constexpr std::size_t kWorkers = 65'536;
constexpr std::size_t kJobs = 1000;
constexpr double kBarMs = 50;

config::TopologySwitch switch_of(std::size_t number, const std::string& parent,
                                 const std::string& parent_port, std::size_t ports) {
  config::TopologySwitch sw;
  sw.config.name = numbered("s", number);
  sw.config.id = static_cast<std::uint32_t>(number + 1);
  sw.config.ipv4 = 0x0A000001u + static_cast<std::uint32_t>(number);
  sw.config.slots = 8192;
  sw.config.memory.reserve_megabytes = 1024;
  sw.config.memory.aggregation_megabytes = 4096;
  sw.parent = parent;
  sw.parent_port = parent_port;
  if (!parent.empty()) sw.uplink = "up";
  for (std::size_t i = 0; i <= ports; ++i) {
    const std::string name = i == ports ? "up" : numbered("p", i);
    sw.config.ports.push_back({.name = name, .devargs = "net_null_" + sw.config.name + "_" + name});
  }
  return sw;
}

config::Topology cluster() {
  config::Topology topology;
  topology.switches.push_back(switch_of(0, "", "", kMiddle));
  for (std::size_t i = 0; i < kMiddle; ++i)
    topology.switches.push_back(switch_of(1 + i, "s0", numbered("p", i), kLeaves / kMiddle));
  for (std::size_t i = 0; i < kLeaves; ++i) {
    const std::size_t workers = kWorkers / kLeaves + (i < kWorkers % kLeaves ? 1 : 0);
    topology.switches.push_back(switch_of(1 + kMiddle + i, numbered("s", 1 + i % kMiddle),
                                          numbered("p", i / kMiddle), workers));
    for (std::size_t w = 0; w < workers; ++w)
      topology.workers.push_back({numbered("w", topology.workers.size()),
                                  topology.switches.back().config.name, numbered("p", w),
                                  std::nullopt});
  }
  return topology;
}

// `apart`: names its workers, each that far from the one before it.
std::string request(const std::string& name, std::size_t workers,
                    std::optional<std::size_t> apart = {}) {
  std::string text = "tenant: t" + std::to_string(std::hash<std::string>()(name) % 100) +
                     "\nlease: 1h\njob:\n  name: " + name +
                     "\n  workers: " + std::to_string(workers) + "\n  window: 64\n";
  if (!apart) return text;
  text += "  members:\n";
  for (std::size_t rank = 0; rank < workers; ++rank)
    text += "  - {rank: " + std::to_string(rank) + ", worker: w" + std::to_string(rank * *apart) +
            "}\n";
  return text;
}

class Bed {
 public:
  Bed() : folder_(std::filesystem::temp_directory_path() / "manager-bench-XXXXXX") {
    std::string name = folder_;
    folder_ = mkdtemp(name.data());
    store_ = std::make_unique<manager::SqliteStore>(folder_ / "state.db");
    Service::Setup setup;
    for (int i = 0; i < 100; ++i) setup.tenants.push_back({.name = numbered("t", i)});
    setup.topology = cluster();
    service_ = std::make_unique<Service>(*store_, std::move(setup), Instant());
  }
  ~Bed() {
    service_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  // Submits it and admits it. False: it waits or was refused.
  bool decide(const std::string& text) {
    const auto told = service_->submit(text, "bench", {});
    service_->advance({});
    const auto at = service_->admission().jobs().find(told.job);
    if (at == service_->admission().jobs().end()) {
      std::fprintf(stderr, "manager: %.300s\n", told.reason.c_str());
      return false;
    }
    if (!at->second.admitted())
      std::fprintf(stderr, "manager: %.300s\n", at->second.waits_for.c_str());
    return at->second.admitted();
  }
  Service& service() { return *service_; }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<manager::SqliteStore> store_;
  std::unique_ptr<Service> service_;
};

// Milliseconds of this thread, and of the disk for commits not.
template <typename Function>
double milliseconds(Function function) {
  const double before = thread_seconds();
  function();
  return (thread_seconds() - before) * 1e3;
}

void add(Report& report, const std::string& case_name, std::vector<double> times, bool right) {
  std::sort(times.begin(), times.end());
  Row row;
  row.suite = "manager";
  row.case_name = case_name;
  row.metric = "time of this thread (bar: ratio 1)";
  row.value = times[times.size() / 2];
  row.reference = "bar";
  row.reference_value = kBarMs;
  row.ratio = kBarMs / row.value;
  row.unit = "ms";
  row.runs = times.size();
  row.min = times.front();
  row.max = times.back();
  row.verified = right;
  report.add(row);
}

int run(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "time of a decision in a cluster of 1,024 switches");
  Report report(options);
  Bed bed;
  bool right = true;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kJobs; ++i) {
    names.push_back(numbered("job-", i));
    right &= bed.decide(request(names.back(), 8));
  }
  for (const std::size_t workers : {8, 256, 1024}) {
    std::vector<double> times;
    for (std::size_t i = 0; i < options.rounds(); ++i) {
      const std::string name = numbered("one-", workers);
      const std::string text = request(name, workers);
      times.push_back(milliseconds([&] { right &= bed.decide(text); }));
      bed.service().cancel(name, {}, "measured");
    }
    add(report, "a job of " + std::to_string(workers) + " workers decided beside 1,000", times,
        right);
  }
  // Every leaf and every switch above, but for a few.
  const std::string everywhere = request("everywhere", 1024, kWorkers / 1024);
  std::vector<double> times;
  for (std::size_t i = 0; i < options.rounds(); ++i) {
    times.push_back(milliseconds([&] { right &= bed.decide(everywhere); }));
    bed.service().cancel("everywhere", {}, "measured");
  }
  add(report, "a job on all switches decided beside 1,000", times, right);
  times.clear();
  for (std::size_t i = 0; i < options.rounds(); ++i)
    times.push_back(milliseconds([&] { bed.service().renew(names, Instant()); }));
  add(report, "1,000 leases renewed", times, right);
  return report.exit_code();
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  return tributary::bench::run(argc, argv);
}
