#include "manager/store/sqlite_store.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

#include "tests/manager/store/scratch.h"

namespace tributary::manager {
namespace {

StoreError::Kind kind_of(Writer& writer, const std::vector<Write>& writes) {
  try {
    writer.commit(writes);
  } catch (const StoreError& error) {
    return error.kind();
  }
  ADD_FAILURE() << "the commit was taken";
  return StoreError::Kind::gone;
}

TEST(SqliteStoreTimed, ComparesBeforeItSets) {
  const Scratch scratch;
  SqliteStore store(scratch.file());
  Writer writer(store, {""});
  const auto first = writer.commit(std::vector<Write>{{"a", "1", 0}, {"b", "1", 0}});
  EXPECT_EQ(kind_of(writer, {{"c", "1", 0}, {"a", "2", 0}}), StoreError::Kind::conflict);
  EXPECT_FALSE(store.get("c").has_value());  // whole or not at all
  const auto second = writer.commit(std::vector<Write>{{"a", "2", first[0]}});
  EXPECT_GT(second[0], first[0]);
  EXPECT_EQ(store.get("a")->value, "2");
  writer.commit(std::vector<Write>{{"a", std::nullopt, second[0]}});
  EXPECT_FALSE(store.get("a").has_value());
  // A key that comes back has a revision that it never had.
  EXPECT_GT(writer.commit(std::vector<Write>{{"a", "3", 0}})[0], second[0]);
}

TEST(SqliteStoreTimed, ListsAPrefixWhateverItsBytes) {
  const Scratch scratch;
  SqliteStore store(scratch.file());
  Writer writer(store, {""});
  const std::string zero("j/\0x", 4);
  writer.commit(std::vector<Write>{{"j/%", "1", 0}, {zero, "2", 0}, {"j", "3", 0}, {"k/", "4", 0}});
  const auto listed = store.list("j/");
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].key, zero);
  EXPECT_EQ(store.list("").size(), 4u);
  EXPECT_EQ(store.list("j/%%").size(), 0u);
}

TEST(SqliteStoreTimed, AnOlderManagerDecidesNothingMore) {
  const Scratch scratch;
  SqliteStore old(scratch.file());
  Writer writer(old, {""});
  writer.commit(std::vector<Write>{{"a", "1", 0}});
  delete_lock(scratch.file());
  SqliteStore next(scratch.file());
  EXPECT_GT(next.term(), old.term());
  EXPECT_EQ(kind_of(writer, {{"b", "1", 0}}), StoreError::Kind::fenced);
  EXPECT_FALSE(next.get("b").has_value());
  EXPECT_EQ(next.get("a")->value, "1");
}

TEST(SqliteStoreTimed, ASecondManagerIsRefusedAndTheFirstDecidesOn) {
  const Scratch scratch;
  auto first = std::make_unique<SqliteStore>(scratch.file());
  const std::uint64_t term = first->term();
  try {
    const SqliteStore second(scratch.file());
    FAIL() << "two managers have it open";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::held);
    EXPECT_THAT(error.what(), testing::HasSubstr("(process " + std::to_string(getpid()) + ")"));
  }
  {
    Writer writer(*first, {""});
    EXPECT_EQ(writer.commit(std::vector<Write>{{"a", "1", 0}}).size(), 1u);
  }
  first.reset();
  const SqliteStore second(scratch.file());
  EXPECT_EQ(second.term(), term + 1) << "the refused one has taken no term";
}

TEST(SqliteStoreTimed, AFullStoreSaysSoAndKeepsWhatItHas) {
  const Scratch scratch;
  SqliteStore store(scratch.file(), 16);
  Writer writer(store, {""});
  writer.commit(std::vector<Write>{{"a", "1", 0}});
  EXPECT_EQ(kind_of(writer, {{"b", std::string(100'000, 'x'), 0}}), StoreError::Kind::full);
  EXPECT_EQ(store.get("a")->value, "1");
  EXPECT_EQ(writer.commit(std::vector<Write>{{"c", "small", 0}}).size(), 1u);
}

TEST(SqliteStoreTimed, AFileThatIsNoDatabaseIsNamed) {
  const Scratch scratch;
  {
    FILE* const file = fopen(scratch.file().c_str(), "w");
    fputs(std::string(8192, 'x').c_str(), file);
    fclose(file);
  }
  try {
    const SqliteStore store(scratch.file());
    FAIL();
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), StoreError::Kind::gone);
    EXPECT_THAT(error.what(), testing::HasSubstr(scratch.file()));
  }
}

// Commits, and tells each commit that is done, until it is killed.
[[noreturn]] void commit_for_ever(const std::string& file, int to) {
  SqliteStore store(file);
  Writer writer(store, {""});
  for (std::uint32_t i = 0;; ++i) {
    const std::string pair = std::to_string(i);
    writer.commit(std::vector<Write>{{"l/" + pair, pair, 0}, {"r/" + pair, pair, 0}});
    if (write(to, &i, sizeof i) != sizeof i) _exit(1);
  }
}

TEST(SqliteStoreTimed, WhatWasCommittedSurvivesAKill) {
  const Scratch scratch;
  for (std::uint32_t round = 0; round < 5; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const std::string file = scratch.file() + std::to_string(round);
    const pid_t child = fork();
    if (child == 0) commit_for_ever(file, ends[1]);
    close(ends[1]);
    std::uint32_t last = 0;
    while (last < 5 + round * 7) ASSERT_EQ(read(ends[0], &last, sizeof last), ssize_t{sizeof last});
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(ends[0], &last, sizeof last) == ssize_t{sizeof last}) {
    }
    close(ends[0]);
    SqliteStore after(file);
    const std::size_t kept = after.list("l/").size();
    EXPECT_GE(kept, last + 1);
    EXPECT_EQ(after.list("r/").size(), kept);  // of each commit both writes or none
  }
}

}  // namespace
}  // namespace tributary::manager
