#include "database/sqlite.h"

#include <gmock/gmock.h>

#include "tests/database/scratch.h"

namespace tributary::database {
namespace {

using testing::HasSubstr;

// Which error; none is a failure of the test.
template <typename Action>
SqliteError error_of(Action action) {
  try {
    action();
  } catch (const SqliteError& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {SqliteError::Kind::gone, ""};
}

TEST(Sqlite, ReadsWhatItWrote) {
  const Scratch scratch;
  Sqlite database(scratch.file());
  database.run("CREATE TABLE rows (a, b, c, d)");
  Statement insert(database, "INSERT INTO rows VALUES (?1, ?2, ?3, ?4)");
  insert.bind(1, std::int64_t{-7});
  insert.bind_text(2, "x");
  insert.bind_bytes(3, std::string_view("\0y", 2));
  insert.bind_null(4);
  EXPECT_FALSE(insert.step());
  insert.reset();
  insert.bind(1, std::int64_t{8});
  insert.step();
  Statement select(database, "SELECT * FROM rows ORDER BY a");
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.number(0), -7);
  EXPECT_EQ(select.text(1), "x");
  EXPECT_EQ(select.text(2), std::string("\0y", 2));
  EXPECT_TRUE(select.is_null(3));
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.number(0), 8);
  EXPECT_EQ(select.text(1), "x") << "parameters keep their values";
  EXPECT_FALSE(select.step());
  EXPECT_EQ(database.number("SELECT count(*) FROM rows"), 2);
  EXPECT_EQ(database.number("SELECT a FROM rows WHERE a = 1"), 0);
}

TEST(Sqlite, ATransactionIsRolledBackUnlessCommitted) {
  const Scratch scratch;
  Sqlite database(scratch.file());
  database.run("CREATE TABLE rows (a)");
  {
    Transaction transaction(database);
    database.run("INSERT INTO rows VALUES (1)");
  }
  EXPECT_EQ(database.number("SELECT count(*) FROM rows"), 0);
  {
    Transaction transaction(database);
    database.run("INSERT INTO rows VALUES (1)");
    transaction.commit();
  }
  EXPECT_EQ(database.number("SELECT count(*) FROM rows"), 1);
}

TEST(Sqlite, ErrorsNameTheFileAndTellAFullOne) {
  const Scratch scratch;
  Sqlite database(scratch.file());
  database.run("CREATE TABLE rows (a)");
  database.run("PRAGMA max_page_count=4");
  const SqliteError full =
      error_of([&] { database.run("INSERT INTO rows VALUES (zeroblob(100000))"); });
  EXPECT_EQ(full.kind(), SqliteError::Kind::full);
  EXPECT_THAT(full.what(), HasSubstr(scratch.file() + ": "));
  const SqliteError wrong = error_of([&] { Statement(database, "SELECT * FROM nowhere"); });
  EXPECT_EQ(wrong.kind(), SqliteError::Kind::gone);
  EXPECT_THAT(wrong.what(), HasSubstr("no such table: nowhere"));
  const SqliteError nowhere = error_of([] { Sqlite("/no/such/folder/file.db"); });
  EXPECT_THAT(nowhere.what(), HasSubstr("/no/such/folder/file.db: "));
}

}  // namespace
}  // namespace tributary::database
