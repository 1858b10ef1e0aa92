#include "tools/client/behind_mark.h"

#include <gmock/gmock.h>

namespace tributary::client {
namespace {

using testing::ElementsAre;

TEST(BehindMark, KeepsWordsAsTheyAre) {
  const char* argv[] = {"tributary", "mpirun", "--launcher", "x", "--", "-n", "[a,b]", "", "--"};
  int argc = 9;
  const auto words = cut_behind_mark(argc, argv);
  ASSERT_TRUE(words);
  EXPECT_EQ(argc, 4);
  EXPECT_THAT(*words, ElementsAre("-n", "[a,b]", "", "--"));
}

TEST(BehindMark, IsThatOfAllCommandsThatStartPrograms) {
  for (const char* command : {"run", "mpirun", "mpi-rank"}) {
    const char* argv[] = {"tributary", command, "--", "[a,b]"};
    int argc = 4;
    const auto words = cut_behind_mark(argc, argv);
    ASSERT_TRUE(words) << command;
    EXPECT_THAT(*words, ElementsAre("[a,b]"));
  }
}

TEST(BehindMark, OfOtherCommandsIsTheirs) {
  const char* argv[] = {"tributary", "set", "--", "x"};
  int argc = 4;
  EXPECT_FALSE(cut_behind_mark(argc, argv));
  EXPECT_EQ(argc, 4);
  argc = 1;
  EXPECT_FALSE(cut_behind_mark(argc, argv));
}

}  // namespace
}  // namespace tributary::client
