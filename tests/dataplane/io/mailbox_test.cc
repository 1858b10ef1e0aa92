#include "dataplane/io/mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tributary::dataplane {
namespace {

constexpr Duration kLong = Duration::seconds(60);

TEST(MailboxTimed, ManyAskersGetTheirOwnAnswers) {
  Mailbox mailbox;
  std::atomic<bool> stop{false};
  std::thread loop([&] {
    while (!stop.load()) {
      mailbox.drain(Instant::from_ns(7));
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> askers;
  std::atomic<int> right{0};
  for (int id = 0; id < 4; ++id)
    askers.emplace_back([&, id] {
      for (int i = 0; i < 100; ++i)
        if (mailbox.ask([=](Instant now) { return now.to_ns() * 1000 + id * 100 + i; }, kLong) ==
            7000 + id * 100 + i)
          ++right;
    });
  for (auto& asker : askers) asker.join();
  stop.store(true);
  loop.join();
  EXPECT_EQ(right.load(), 400);
}

TEST(MailboxTimed, AskerGivesUpAndTheRequestStillOwnsWhatItNeeds) {
  Mailbox mailbox;
  auto ran = std::make_shared<bool>(false);
  EXPECT_THROW(mailbox.ask([ran](Instant) { *ran = true; }, Duration()), std::runtime_error);
  EXPECT_FALSE(*ran);
  EXPECT_EQ(mailbox.drain(Instant()), 1u);
  EXPECT_TRUE(*ran);
  EXPECT_EQ(ran.use_count(), 1);
}

TEST(MailboxTimed, IsBoundedAndSoIsATurnsShare) {
  Mailbox mailbox;
  int ran = 0;
  for (std::size_t i = 0; i < Mailbox::kCapacity; ++i)
    EXPECT_THROW(mailbox.ask([&ran](Instant) { ++ran; }, Duration()), std::runtime_error);
  try {
    mailbox.ask([](Instant) {}, Duration());
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the packet loop has too many requests waiting");
  }
  EXPECT_EQ(mailbox.drain(Instant()), Mailbox::kPerTurn);
  EXPECT_EQ(ran, static_cast<int>(Mailbox::kPerTurn));
}

// However many of others wait, and behind them.
TEST(MailboxTimed, WhatIsAssuredOfItsPlaceHasIt) {
  Mailbox mailbox;
  std::vector<int> ran;
  const auto post = [&](int id) {
    return mailbox.post([&ran, id](Instant) { ran.push_back(id); });
  };
  for (std::size_t i = 0; i < Mailbox::kCapacity; ++i) post(0);
  for (std::size_t i = 0; i < Mailbox::kAssured; ++i)
    mailbox.post_assured([&ran](Instant) { ran.push_back(1); });
  EXPECT_THROW(mailbox.post_assured([](Instant) {}), std::logic_error) << "bounded, too";
  EXPECT_THROW(post(0), std::runtime_error);
  for (std::size_t left = Mailbox::kCapacity + Mailbox::kAssured; left > 0; left -= 2)
    EXPECT_EQ(mailbox.drain(Instant()), 2u);
  std::vector<int> all(Mailbox::kCapacity, 0);
  all.resize(Mailbox::kCapacity + Mailbox::kAssured, 1);
  EXPECT_EQ(ran, all);
  // They take no place from others' requests but while they wait.
  mailbox.post_assured([](Instant) {});
  for (std::size_t i = 1; i < Mailbox::kCapacity; ++i) post(0);
  EXPECT_THROW(post(0), std::runtime_error);
}

TEST(MailboxTimed, ErrorsReachTheAsker) {
  Mailbox mailbox;
  std::thread loop([&] {
    while (mailbox.drain(Instant()) == 0) std::this_thread::yield();
  });
  EXPECT_THROW(mailbox.ask([](Instant) -> int { throw std::out_of_range("no"); }, kLong),
               std::out_of_range);
  loop.join();
}

}  // namespace
}  // namespace tributary::dataplane
