// Questions about containers' output find the agent of their node, and the answers the client (C2).
#include "manager/service/log_desk.h"

#include <gtest/gtest.h>

#include <future>

namespace tributary::manager {
namespace {

using namespace std::chrono_literals;

TEST(LogDeskTimed, C2_AnAnswerReachesItsQuestion) {
  LogDesk desk;
  const auto id = desk.ask("x", {.instance = "1.1", .container = "main", .lines = 10});
  ASSERT_TRUE(id);
  EXPECT_TRUE(desk.take("y").empty());
  const auto questions = desk.take("x");
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0].id, *id);
  EXPECT_EQ(questions[0].instance, "1.1");
  EXPECT_TRUE(desk.take("x").empty()) << "each is given out once";
  auto answer = std::async(std::launch::async, [&] { return desk.wait(*id, 1h); });
  desk.answer("y", *id, {"of another node", ""});
  desk.answer("x", *id + 1, {"of another question", ""});
  desk.answer("x", *id, {"line\n", ""});
  EXPECT_EQ(answer.get()->text, "line\n");
}

TEST(LogDeskTimed, WithoutAnAnswerTheQuestionEnds) {
  LogDesk desk;
  const auto id = desk.ask("x", {});
  EXPECT_FALSE(desk.wait(*id, 0ms));
  EXPECT_TRUE(desk.take("x").empty());
  desk.answer("x", *id, {"late", ""});
  EXPECT_FALSE(desk.wait(*id, 0ms));
}

TEST(LogDeskTimed, ANodeHasABoundedNumberOfQuestions) {
  LogDesk desk;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < LogDesk::kMostQuestions; ++i) last = desk.ask("x", {}).value();
  EXPECT_FALSE(desk.ask("x", {}));
  EXPECT_TRUE(desk.ask("y", {}));
  EXPECT_FALSE(desk.wait(last, 0ms));
  EXPECT_TRUE(desk.ask("x", {}));
}

}  // namespace
}  // namespace tributary::manager
