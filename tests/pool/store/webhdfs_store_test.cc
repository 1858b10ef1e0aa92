// WebHDFS: listings, the redirect to a data node, files that change.
#include "pool/store/webhdfs_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pool/store/http_stub.h"

namespace tributary::pool {
namespace {

using testing::HasSubstr;

const StoreTimeouts kShort{Duration::seconds(2), Duration::seconds(1)};

bool has(const std::string& head, const char* text) {
  return head.find(text) != std::string::npos;
}

std::string status(const std::string& suffix, const char* type, int length, int time = 5) {
  return R"({"pathSuffix":")" + suffix + R"(","type":")" + type + R"(","length":)" +
         std::to_string(length) + R"(,"modificationTime":)" + std::to_string(time) + "}";
}

TEST(PoolWebHdfsStore, ListsFoldersAndReadsThroughTheRedirect) {
  HttpStub data_node([](const std::string& head) {
    EXPECT_TRUE(has(head, "GET /data/x?offset=3"));
    return HttpStub::answer(200, "defg");
  });
  HttpStub name_node([&](const std::string& head) {
    if (has(head, "GET /webhdfs/v1/d?op=LISTSTATUS&user.name=me"))
      return HttpStub::answer(200, R"({"FileStatuses":{"FileStatus":[)" +
                                       status("s", "DIRECTORY", 0) + "," + status("b", "FILE", 9) +
                                       "]}}");
    if (has(head, "GET /webhdfs/v1/d/s?op=LISTSTATUS"))
      return HttpStub::answer(
          200, R"({"FileStatuses":{"FileStatus":[)" + status("a", "FILE", 7) + "]}}");
    if (has(head, "GET /webhdfs/v1/d/s/a?op=GETFILESTATUS"))
      return HttpStub::answer(200, R"({"FileStatus":)" + status("", "FILE", 7) + "}");
    if (has(head, "GET /webhdfs/v1/d/s/a?op=OPEN&offset=3&length=4"))
      return HttpStub::answer(307, "", "Location: " + data_node.url() + "/data/x?offset=3\r\n");
    return HttpStub::answer(404, "");
  });
  WebHdfsStore store({name_node.authority(), "/d", "me"}, kShort);
  const auto objects = store.list();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].name, "b");
  EXPECT_EQ(objects[1].name, "s/a");
  EXPECT_EQ(objects[1].bytes, 7u);
  std::vector<std::byte> out(4);
  store.read(objects[1], 3, out);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(out.data()), 4), "defg");
}

TEST(PoolWebHdfsStore, FileThatChangedIsNoticed) {
  HttpStub stub([](const std::string&) {
    return HttpStub::answer(200, R"({"FileStatus":)" + status("", "FILE", 7, 6) + "}");
  });
  WebHdfsStore store({stub.authority(), "", ""}, kShort);
  std::vector<std::byte> out(4);
  try {
    store.read({"a", 7, 5}, 0, out);
    FAIL() << "the file is another one";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.fault(), StoreFault::changed);
  }
}

TEST(PoolWebHdfsStore, AnswersThatAreNoneAreRefused) {
  for (const char* body :
       {"", "[]", "{}", "{\"FileStatuses\":3}", "{\"FileStatuses\":{\"FileStatus\":[3]}}",
        "{\"FileStatuses\":{\"FileStatus\":[{\"type\":\"FILE\"}]}}"}) {
    HttpStub stub([&](const std::string&) { return HttpStub::answer(200, body); });
    WebHdfsStore store({stub.authority(), "", ""}, kShort);
    EXPECT_THROW(store.list(), StoreError) << body;
  }
}

}  // namespace
}  // namespace tributary::pool
