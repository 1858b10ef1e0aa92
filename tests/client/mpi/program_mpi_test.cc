// The MPI of a program by what it is linked with.
#include "tools/client/mpi/program_mpi.h"

#include <gmock/gmock.h>

namespace tributary::client {
namespace {

using testing::ElementsAre;

TEST(ProgramMpi, IsThatOfItsLibraries) {
  const auto open = mpi_of_libraries(
      "\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"
      "\tlibmpi.so.40 => /lib/libmpi.so.40 (0x2)\n");
  EXPECT_EQ(open.mpi, Mpi::openmpi);
  EXPECT_EQ(open.seen_in, "libmpi.so.40");
  EXPECT_EQ(mpi_of_libraries("\tlibmpich.so.12 => not found\n").mpi, Mpi::mpich);
  EXPECT_EQ(mpi_of_libraries("\tlibmpi.so.12 => /opt/intel/libmpi.so.12 (0x1)\n").mpi,
            std::nullopt);
  EXPECT_EQ(mpi_of_libraries("\tlibmpi_cxx.so.40 => /lib/x (0x1)\n").mpi, std::nullopt);
  EXPECT_EQ(mpi_of_libraries("").mpi, std::nullopt);
}

TEST(ProgramMpi, OfScriptsIsThatOfTheirInterpreter) {
  EXPECT_THAT(interpreter_of("#!/usr/bin/env python3\nimport sys\n"),
              ElementsAre("/usr/bin/env", "python3"));
  EXPECT_THAT(interpreter_of("#! /bin/sh -e\n"), ElementsAre("/bin/sh", "-e"));
  EXPECT_TRUE(interpreter_of("\177ELF").empty());
  EXPECT_TRUE(interpreter_of("").empty());
}

TEST(ProgramMpi, ProgramsAreFoundAsTheShellFindsThem) {
  EXPECT_TRUE(find_program("sh").ends_with("/sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program("/bin"), "");
  EXPECT_EQ(find_program("no-such-program"), "");
  EXPECT_EQ(find_program(""), "");
}

}  // namespace
}  // namespace tributary::client
