// The runner's turns against a podman that does not answer, which may keep one for minutes.
#include "tools/agentd/pods/pod_runner.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/agentd/pods/fake_runtime.h"
#include "tests/agentd/pods/silent_podman.h"
#include "tests/manager/store/scratch.h"

namespace tributary::agentd {
namespace {

struct RunnerBed {
  RunnerBed()
      : podman(options().podman),
        runner(
            options(), folder(), [] {}, [](const auto&) {}) {}
  [[nodiscard]] std::string folder() const {
    return std::filesystem::path(scratch.file()).parent_path();
  }
  [[nodiscard]] NodeOptions options() const {
    NodeOptions options;
    options.name = "n";
    options.podman = folder() + "/podman";
    options.cdi = folder();
    return options;
  }
  // Returns when podman is asked to make the pod's container.
  void begin(Duration lease) {
    runner.desire({1, {wanted_pod("a", "1.1")}});
    runner.sent(1);
    runner.acknowledged(1, lease);
    podman.await("POST", 1);
  }

  const manager::Scratch scratch;
  SilentPodman podman;
  PodRunner runner;
};

// Both tests hang for minutes where a request is waited for to its end.
TEST(PodRunnerTimed, C2_NoRequestKeepsContainersFromEndingWithTheLease) {
  RunnerBed bed;
  bed.begin(Duration::seconds(5));
  bed.podman.await("GET", bed.podman.count("GET") + 1);
  EXPECT_EQ(bed.podman.count("POST"), 1u) << "the list of what is to end comes next";
}

TEST(PodRunnerTimed, NoRequestKeepsTheAgentFromEnding) {
  RunnerBed bed;
  bed.begin(Duration::seconds(3600));
}

}  // namespace
}  // namespace tributary::agentd
