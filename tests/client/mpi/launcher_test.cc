// Where the programs begin in the command lines of both launchers.
#include "tools/client/mpi/launcher.h"

#include <gmock/gmock.h>

#include "tools/cli/app.h"

namespace tributary::client {
namespace {

using testing::ElementsAre;
using Words = std::vector<std::string>;

bool is_program(const std::string& word) {
  return word == "ssh" || word == "prog" || word == "./a";
}

std::vector<LaunchPart> split(Mpi mpi, const Words& words) {
  return split_launch(mpi, words, is_program);
}

TEST(Launcher, KnowsItsMpiByTheVersion) {
  EXPECT_EQ(mpi_of_version("mpirun.openmpi (OpenRTE) 4.1.4\n"), Mpi::openmpi);
  EXPECT_EQ(mpi_of_version("mpirun (Open MPI) 5.0.3"), Mpi::openmpi);
  EXPECT_EQ(mpi_of_version("HYDRA build details:\n  Version: 4.0.2"), Mpi::mpich);
  EXPECT_EQ(mpi_of_version("MPICH Version:\t4.0.2"), Mpi::mpich);
  EXPECT_EQ(mpi_of_version("Intel(R) MPI Library for Linux* OS, Version 2021 (Hydra)"),
            std::nullopt);
  EXPECT_EQ(mpi_of_version("slurm 22.05"), std::nullopt);
}

TEST(Launcher, TheProgramIsBehindTheOptionsAndTheirValues) {
  auto parts = split(Mpi::openmpi, {"-n", "4", "--mca", "plm", "ssh", "-x", "A=b", "--host=h",
                                    "--oversubscribe", "prog", "-n", "--", ""});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_THAT(parts[0].program, ElementsAre("prog", "-n", "--", ""));
  parts = split(Mpi::mpich, {"-genv", "A", "prog", "-launcher", "ssh", "-l", "prog", "[a,b]"});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_THAT(parts[0].program, ElementsAre("prog", "[a,b]"));
}

TEST(Launcher, AnUnknownOptionMayHaveAValueThatIsNoProgram) {
  EXPECT_THAT(split(Mpi::openmpi, {"--new", "3", "prog"})[0].program, ElementsAre("prog"));
  EXPECT_THAT(split(Mpi::openmpi, {"--new", "prog", "3"})[0].program, ElementsAre("prog", "3"));
  EXPECT_THAT(split(Mpi::openmpi, {"--new", "--other", "prog"})[0].program, ElementsAre("prog"));
}

TEST(Launcher, SeveralProgramsAreSeparated) {
  const auto parts = split(Mpi::mpich, {"-n", "1", "prog", "x", ":", "-n", "2", "./a"});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(parts[0].program, ElementsAre("prog", "x"));
  EXPECT_THAT(parts[1].options, ElementsAre("-n", "2"));
  EXPECT_THAT(parts[1].program, ElementsAre("./a"));
}

TEST(Launcher, ALineWithoutAProgramIsRefused) {
  EXPECT_THROW(split(Mpi::openmpi, {}), cli::UsageError);
  EXPECT_THROW(split(Mpi::openmpi, {"-n", "4"}), cli::UsageError);
  EXPECT_THROW(split(Mpi::openmpi, {"-n"}), cli::UsageError);
  EXPECT_THROW(split(Mpi::openmpi, {"-n", "1", "prog", ":", "-n", "1"}), cli::UsageError);
  EXPECT_THROW(split(Mpi::openmpi, {"--app", "file"}), cli::UsageError);
  EXPECT_THROW(split(Mpi::mpich, {"-configfile", "file"}), cli::UsageError);
}

TEST(Launcher, FindsVariablesThatTheCommandLineSets) {
  const auto open = split(Mpi::openmpi, {"-x", "TRIBUTARY_JOBS=4", "prog"});
  EXPECT_EQ(variable_in(open, "TRIBUTARY_JOBS"), "4");
  EXPECT_EQ(variable_in(open, "TRIBUTARY_JOB"), std::nullopt);
  const auto mpich = split(Mpi::mpich, {"prog", ":", "-env", "TRIBUTARY_JOBS", "5", "prog"});
  EXPECT_EQ(variable_in(mpich, "TRIBUTARY_JOBS"), "5");
}

TEST(Launcher, AnOptionMayMoveTheProgram) {
  EXPECT_TRUE(moves_program(split(Mpi::openmpi, {"--wdir", "/tmp", "prog"})[0]));
  EXPECT_FALSE(moves_program(split(Mpi::openmpi, {"-n", "1", "prog", "-wdir"})[0]));
}

TEST(Launcher, VariablesReachEveryProgram) {
  const Words words = {"-n", "1", "prog", ":", "./a"};
  EXPECT_THAT(launch_words(Mpi::openmpi, "mpirun", split(Mpi::openmpi, words), {"A=1", "B=2 3"},
                           {"front", "--"}),
              ElementsAre("mpirun", "-x", "A", "-x", "B", "-n", "1", "front", "--", "prog", ":",
                          "-x", "A", "-x", "B", "front", "--", "./a"));
  EXPECT_THAT(launch_words(Mpi::mpich, "mpiexec", split(Mpi::mpich, words), {"A=1", "B=2 3"},
                           {"front", "--"}),
              ElementsAre("mpiexec", "-genv", "A", "1", "-genv", "B", "2 3", "-n", "1", "front",
                          "--", "prog", ":", "front", "--", "./a"));
}

}  // namespace
}  // namespace tributary::client
