// A loader's metrics: as text, and as files of processes that share a folder.
#include "pool/loader/loader_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "pool/loader/loader.h"
#include "tests/pool/stored_pool.h"

namespace tributary::pool {
namespace {

using testing::HasSubstr;

class PoolLoaderMetricsTimed : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path file(int number) const {
    return folder_ / ("tributary-pool-stored-" + std::to_string(number) + ".prom");
  }
  [[nodiscard]] std::string read(int number) const {
    std::ostringstream text;
    text << std::ifstream(file(number)).rdbuf();
    return text.str();
  }
  // What a textfile collector reads.
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().extension() == ".prom") out.insert(entry.path().filename());
    return out;
  }
  [[nodiscard]] LoaderMetrics metrics() const { return {"stored", folder_}; }
  [[nodiscard]] PoolConfig config() const {
    PoolConfig config = load_pool_config(stored_.config());
    config.load.metrics_folder = folder_;
    return config;
  }

  const StoredPool stored_{"loader-metrics"};
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("loader-metrics-of-" + std::to_string(getpid()));
};

void load(Loader& loader, std::uint64_t id) {
  std::vector<std::byte> target(loader.length(id));
  loader.get_into(id, target);
}

TEST_F(PoolLoaderMetricsTimed, TextHasEveryCounterAndTheBatchesTimes) {
  LoaderMetrics its = metrics();
  its.add_batch(1);
  its.add_batch(std::uint64_t{1} << 16);
  its.add_batch(~std::uint64_t{0});
  const std::string text = its.text({1, 2, 3, 4, 5, 6, 7, 3, 1'500'000'000, 9});
  for (const char* line : {
           "# TYPE tributary_pool_loader_records_total counter\n",
           "tributary_pool_loader_records_total{pool=\"stored\",source=\"pool\"} 1\n",
           "tributary_pool_loader_records_total{pool=\"stored\",source=\"store\"} 2\n",
           "tributary_pool_loader_bytes_total{pool=\"stored\",source=\"pool\"} 3\n",
           "tributary_pool_loader_bytes_total{pool=\"stored\",source=\"store\"} 4\n",
           "tributary_pool_loader_stale_total{pool=\"stored\"} 5\n",
           "tributary_pool_loader_corrupt_total{pool=\"stored\"} 6\n",
           "tributary_pool_loader_node_failures_total{pool=\"stored\"} 7\n",
           "# TYPE tributary_pool_loader_batch_seconds histogram\n",
           "tributary_pool_loader_batch_seconds_bucket{pool=\"stored\",le=\"6.5536e-05\"} 1\n",
           "tributary_pool_loader_batch_seconds_bucket{pool=\"stored\",le=\"0.000131072\"} 2\n",
           "tributary_pool_loader_batch_seconds_bucket{pool=\"stored\",le=\"+Inf\"} 3\n",
           "tributary_pool_loader_batch_seconds_sum{pool=\"stored\"} 1.5\n",
           "tributary_pool_loader_batch_seconds_count{pool=\"stored\"} 3\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
}

TEST_F(PoolLoaderMetricsTimed, AFileIsReplacedWhenItIsDue) {
  LoaderMetrics its = metrics();
  const auto start = LoaderMetrics::Clock::now();
  const std::string line = "records_total{pool=\"stored\",process=\"0\",source=\"pool\"} ";
  LoadCounters counters;
  counters.hits = 10;
  its.write_if_due(counters, start);
  EXPECT_THAT(read(0), HasSubstr(line + "10\n"));
  counters.hits = 20;
  its.write_if_due(counters, start + LoaderMetrics::kInterval - std::chrono::nanoseconds(1));
  EXPECT_THAT(read(0), HasSubstr(line + "10\n"));
  its.write_if_due(counters, start + LoaderMetrics::kInterval);
  EXPECT_THAT(read(0), HasSubstr(line + "20\n"));
  EXPECT_EQ(files().size(), 1u);
  struct stat status {};
  ASSERT_EQ(stat(file(0).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0644u) << "node_exporter may be another user";
}

TEST_F(PoolLoaderMetricsTimed, NumbersAreTakenAgainAndFilesStayUntilThen) {
  const LoadCounters counters;
  LoaderMetrics first = metrics();
  first.write(counters);
  {
    LoaderMetrics second = metrics();
    second.write(counters);
  }
  EXPECT_EQ(files(), (std::set<std::string>{"tributary-pool-stored-0.prom",
                                            "tributary-pool-stored-1.prom"}));
  LoaderMetrics third = metrics();
  third.write({9, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(files().size(), 2u) << "the number and the file of one that ended";
  EXPECT_THAT(read(1), HasSubstr("process=\"1\",source=\"pool\"} 9\n"));
}

TEST_F(PoolLoaderMetricsTimed, AFileThatCannotBeWrittenDisturbsNothing) {
  LoaderMetrics its = metrics();
  std::filesystem::remove_all(folder_);
  its.write({});
  std::filesystem::create_directories(folder_);
  its.write({});
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(PoolLoaderMetricsTimed, AFolderThatIsNoneIsRefusedAtTheStart) {
  PoolConfig bad = config();
  for (const auto& place : {folder_ / "none", stored_.file(1)}) {
    const std::string folder = place;
    bad.load.metrics_folder = folder;
    try {
      const Loader loader(bad);
      ADD_FAILURE() << folder;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("pool.load.metrics_folder " + folder));
    }
  }
}

TEST_F(PoolLoaderMetricsTimed, L5ALoadersLastValuesOutliveIt) {
  {
    Loader loader(config());
    EXPECT_THAT(loader.metrics(), HasSubstr("source=\"store\"} 0\n")) << "before its first load";
    EXPECT_TRUE(files().empty());
    load(loader, 1);
    EXPECT_EQ(files().size(), 1u);
    load(loader, 2);
    EXPECT_THAT(loader.metrics(), HasSubstr("records_total{pool=\"stored\",source=\"store\"} 2\n"));
  }
  EXPECT_THAT(read(0), HasSubstr("process=\"0\",source=\"store\"} 2\n"));
  EXPECT_THAT(read(0), HasSubstr("batch_seconds_count{pool=\"stored\",process=\"0\"} 2\n"));
}

TEST_F(PoolLoaderMetricsTimed, BatchesThatFailCountTheirTime) {
  Loader loader(config());
  std::filesystem::remove(stored_.file(3));
  EXPECT_THROW(load(loader, 3), LoadError);
  EXPECT_THAT(loader.metrics(), HasSubstr("batch_seconds_count{pool=\"stored\"} 1\n"));
}

TEST_F(PoolLoaderMetricsTimed, AChildHasAFileOfItsOwn) {
  Loader loader(config());
  load(loader, 1);
  const pid_t child = fork();
  if (child == 0) {
    load(loader, 2);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_THAT(read(0), HasSubstr("process=\"0\",source=\"store\"} 1\n"));
  EXPECT_THAT(read(1), HasSubstr("process=\"1\",source=\"store\"} 1\n"));
}

}  // namespace
}  // namespace tributary::pool
