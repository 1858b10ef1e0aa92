// An older manager is refused, also after a restart of the agent (T20).
#include "tools/agentd/terms.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "tests/manager/store/scratch.h"

namespace tributary::agentd {
namespace {

using manager::Scratch;

TEST(Terms, ALowerOneIsRefusedOverRestarts) {
  const Scratch scratch;
  {
    Terms terms(scratch.file());
    EXPECT_EQ(terms.highest(), 0u);
    EXPECT_TRUE(terms.accept(3));
    EXPECT_TRUE(terms.accept(3));
    EXPECT_FALSE(terms.accept(2));
  }
  Terms terms(scratch.file());
  EXPECT_EQ(terms.highest(), 3u);
  EXPECT_FALSE(terms.accept(2));
  EXPECT_TRUE(terms.accept(4));
}

TEST(Terms, AFileThatHoldsNoNumberIsAnError) {
  const Scratch scratch;
  std::ofstream(scratch.file()) << "three\n";
  EXPECT_THROW(Terms{scratch.file()}, std::runtime_error);
}

TEST(Terms, OneThatCannotBeKeptIsNotAccepted) {
  Terms terms("/proc/no/such/folder/term");
  EXPECT_THROW(terms.accept(1), std::runtime_error);
  EXPECT_EQ(terms.highest(), 0u);
}

}  // namespace
}  // namespace tributary::agentd
