// What `tributary mpirun` takes from a launcher's standard error, and what it passes on.
#include "tools/client/mpi/call_report.h"

#include <gtest/gtest.h>

namespace tributary::client {
namespace {

struct Relay {
  std::string passed;
  CallReport report{[this](std::string_view bytes) { passed += bytes; }};
};

TEST(CallReport, PassesOnAllButTheCounts) {
  Relay r;
  r.report.take("a\ntributary: rank 0: counting the calls of 2 ranks\nb\n");
  EXPECT_TRUE(r.report.reached());
  EXPECT_FALSE(r.report.counted());
  r.report.take("tributary: rank 0: MPI_COMM_WORLD stays with MPI\n");
  r.report.take("tributary: rank 0: calls of 2 ranks, switch/MPI: allreduce 3/1, bcast 0/2\nc");
  r.report.finish();
  EXPECT_TRUE(r.report.counted());
  EXPECT_EQ(r.passed, "a\nb\ntributary: rank 0: MPI_COMM_WORLD stays with MPI\nc");
  EXPECT_EQ(r.report.summary(),
            "tributary: 2 ranks, allreduce: 3 calls through the switch, 1 left to MPI\n"
            "tributary: 2 ranks, bcast: 0 calls through the switch, 2 left to MPI\n");
}

TEST(CallReport, APromptIsPassedOnAtOnceAndALineInPiecesIsRead) {
  Relay r;
  r.report.take("Password: ");
  EXPECT_EQ(r.passed, "Password: ");
  r.report.take("x\n");
  EXPECT_EQ(r.passed, "Password: x\n");
  const std::string line = "tributary: rank 0: calls of 1 ranks, switch/MPI: none\n";
  r.report.take(line.substr(0, 30));
  r.report.take(line.substr(30));
  EXPECT_EQ(r.passed, "Password: x\n");
  EXPECT_TRUE(r.report.counted());
  EXPECT_EQ(r.report.summary(),
            "tributary: 1 rank called none of the collectives that the switch does\n");
}

TEST(CallReport, SeveralProgramsAreSummed) {
  Relay r;
  r.report.take(
      "tributary: rank 0: calls of 2 ranks, switch/MPI: allreduce 0/1\n"
      "tributary: rank 0: calls of 4 ranks, switch/MPI: allreduce 0/2, barrier 0/4\n");
  EXPECT_EQ(r.report.summary(),
            "tributary: 4 ranks, allreduce: 0 calls through the switch, 3 left to MPI\n"
            "tributary: 4 ranks, barrier: 0 calls through the switch, 4 left to MPI\n"
            "tributary: no call went through the switch; TRIBUTARY_MPI_LOG=1 says why\n");
}

}  // namespace
}  // namespace tributary::client
