// WebHDFS: listings, the redirect to a data node, files that change.
#include "pool/store/webhdfs_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

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

TEST(PoolWebHdfsStoreTimed, ListsFoldersAndReadsThroughTheRedirect) {
  HttpStub data_node([](const std::string& head) {
    EXPECT_TRUE(has(head, "GET /data/x?length=4&offset=3"));
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
      return HttpStub::answer(307, "",
                              "Location: " + data_node.url() + "/data/x?length=4&offset=3\r\n");
    return HttpStub::answer(404, "");
  });
  WebHdfsStore store({name_node.authority(), "/d", "me"}, kShort);
  const auto objects = store.list({});
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].name, "b");
  EXPECT_EQ(objects[1].name, "s/a");
  EXPECT_EQ(objects[1].bytes, 7u);
  std::vector<std::byte> out(4);
  store.read(objects[1], 3, out);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(out.data()), 4), "defg");
}

TEST(PoolWebHdfsStoreTimed, L1NamesThatLeaveTheFolderAreRefused) {
  HttpStub name_node([](const std::string& head) {
    EXPECT_TRUE(has(head, "LISTSTATUS")) << "only the listing is asked for: " << head;
    return HttpStub::answer(200, R"({"FileStatuses":{"FileStatus":[)" + status("..", "FILE", 7) +
                                     "," + status("a/../../b", "FILE", 7) + "," +
                                     status("..", "DIRECTORY", 0) + "," +
                                     status("good..", "FILE", 7) + "]}}");
  });
  WebHdfsStore store({name_node.authority(), "/d", ""}, kShort);
  const auto objects = store.list({});
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0].name, "good..");
  EXPECT_EQ(store.left_out().count(), 3u);
  std::vector<std::byte> out(1);
  for (const char* name : {"../other", "a/../../other", "./a", ".."}) {
    try {
      store.read({name, 7, 5}, 0, out);
      ADD_FAILURE() << name << " was read";
    } catch (const StoreError& error) {
      EXPECT_EQ(error.fault(), StoreFault::refused);
      EXPECT_THAT(error.what(), HasSubstr("leaves the store's directory"));
    }
  }
}

// The error of listing a folder of two files, a link, and a folder that has the same.
std::string problem_of_folders(const ListingLimits& limits) {
  HttpStub name_node([](const std::string&) {
    return HttpStub::answer(200, R"({"FileStatuses":{"FileStatus":[)" + status("a", "FILE", 7) +
                                     "," + status("b", "FILE", 7) + "," +
                                     status("l", "SYMLINK", 7) + "," + status("s", "DIRECTORY", 0) +
                                     "]}}");
  });
  WebHdfsOptions options{name_node.authority(), "/d", ""};
  options.listing = limits;
  try {
    WebHdfsStore(options, kShort).list({});
  } catch (const StoreError& error) {
    EXPECT_EQ(error.fault(), StoreFault::refused);
    return error.what();
  }
  return "";
}

TEST(PoolWebHdfsStoreTimed, L1ListingsWithoutEndAreRefused) {
  EXPECT_THAT(problem_of_folders({1000, 1000}), HasSubstr("folders too deep"));
  EXPECT_THAT(problem_of_folders({1000, 5}),
              HasSubstr("/d/s/s/s/s/s?op=LISTSTATUS: the listing goes beyond 5 folders"));
  EXPECT_THAT(problem_of_folders({6, 1000}),
              HasSubstr("/d/s?op=LISTSTATUS: the listing goes beyond 6 entries"));
}

// A file of 7 bytes of time 5, of which bytes 3 to 6 are read.
struct File {
  // From the number of a request, from 1, to the file's length and time in that answer.
  std::function<std::pair<int, int>(int)> now = [](int) { return std::pair(7, 5); };
  std::string location = "/data?offset=3&length=4";
  std::string data = HttpStub::answer(200, "defg");
  int requests = 0;

  std::string answer(const std::string& head) {
    if (has(head, "GET /data")) return data;
    if (has(head, "op=OPEN")) return HttpStub::answer(307, "", "Location: " + location + "\r\n");
    const auto [length, time] = now(++requests);
    return HttpStub::answer(200, R"({"FileStatus":)" + status("", "FILE", length, time) + "}");
  }
};

// The fault of reading it several times with one store; nullopt: none.
std::optional<StoreFault> read(File file, int times = 1) {
  HttpStub stub([&](const std::string& head) { return file.answer(head); });
  WebHdfsStore store({stub.authority(), "", ""}, kShort);
  std::vector<std::byte> out(4);
  try {
    for (int i = 0; i < times; ++i) store.read({"a", 7, 5}, 3, out);
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(), HasSubstr(stub.url() + "/webhdfs/v1/a?"));
    return error.fault();
  }
  return std::nullopt;
}

TEST(PoolWebHdfsStoreTimed, FileThatChangedIsNoticed) {
  EXPECT_EQ(read({}, 3), std::nullopt);
  File other;
  other.now = [](int) { return std::pair(7, 6); };
  EXPECT_EQ(read(other), StoreFault::changed);
  other.now = [](int) { return std::pair(8, 5); };
  EXPECT_EQ(read(other), StoreFault::changed);
}

TEST(PoolWebHdfsStoreTimed, L1FileThatChangedAfterItsFirstReadIsNoticed) {
  File later;
  later.now = [](int request) { return std::pair(7, request == 1 ? 5 : 6); };
  EXPECT_EQ(read(later, 1), std::nullopt);
  EXPECT_EQ(read(later, 2), StoreFault::changed);
}

TEST(PoolWebHdfsStoreTimed, FileThatBecameShorterIsNamedAsChanged) {
  File shorter;
  shorter.now = [](int) { return std::pair(2, 6); };
  shorter.data = HttpStub::answer(403, "");
  EXPECT_EQ(read(shorter), StoreFault::changed);
}

TEST(PoolWebHdfsStoreTimed, L1AnswersThatAreNotTheAskedBytesAreRefused) {
  File file;
  for (const char* location :
       {"/data", "/data?offset=3", "/data?length=4", "/data?offset=4&length=4",
        "/data?offset=3&length=5", "/data?offset=3&length=4&offset=3"}) {
    file.location = location;
    EXPECT_EQ(read(file), StoreFault::refused) << location;
  }
  file = {};
  for (const std::string& data :
       {HttpStub::answer(200, "defgh"), HttpStub::answer(200, "def"), HttpStub::answer(206, "defg"),
        HttpStub::answer(200, "defg", "Content-Range: bytes 2-5/7\r\n"),
        HttpStub::answer(206, "defg", "Content-Range: bytes 2-5/7\r\n")}) {
    file.data = data;
    EXPECT_EQ(read(file), StoreFault::refused) << data;
  }
  file.location = "/data";
  file.data = HttpStub::answer(206, "defg", "Content-Range: bytes 3-6/7\r\n");
  EXPECT_EQ(read(file), std::nullopt) << "a Content-Range proves it, too";
}

std::string remote_exception(const std::string& name) {
  return R"({"RemoteException":{"message":"Operation category READ is not supported","exception":")" +
         name + R"(","javaClassName":"org.apache.hadoop.ipc.)" + name + "\"}}";
}

TEST(PoolWebHdfsStoreTimed, L1NameNodesThatAreNotActiveAreAskedAgain) {
  for (const char* name : {"StandbyException", "RetriableException"}) {
    int requests = 0;
    HttpStub stub([&](const std::string&) {
      return ++requests < 3 ? HttpStub::answer(403, remote_exception(name))
                            : HttpStub::answer(200, R"({"FileStatuses":{"FileStatus":[)" +
                                                        status("a", "FILE", 7) + "]}}");
    });
    WebHdfsStore store({stub.authority(), "", ""}, kShort);
    EXPECT_EQ(store.list(Retry({Duration::us(10), Duration::us(10), 2})).size(), 1u) << name;
    EXPECT_EQ(requests, 3);
    File file;
    file.data = HttpStub::answer(403, remote_exception(name));
    EXPECT_EQ(read(file), StoreFault::unavailable) << "a record reader tries again";
  }
  File file;
  file.data = HttpStub::answer(403, remote_exception("AccessControlException"));
  EXPECT_EQ(read(file), StoreFault::denied);
}

TEST(PoolWebHdfsStoreTimed, L1LengthsThatAreNoneAreRefused) {
  for (const char* length : {"-1", "1.5", "1e300", "\"7\"", "null", "18446744073709551616"})
    for (const std::string& fields :
         {R"("length":)" + std::string(length) + R"(,"modificationTime":5)",
          R"("length":7,"modificationTime":)" + std::string(length)}) {
      HttpStub stub([&](const std::string&) {
        return HttpStub::answer(200, R"({"FileStatuses":{"FileStatus":[{"pathSuffix":"a","type":)"
                                     R"("FILE",)" +
                                         fields + "}]}}");
      });
      WebHdfsStore store({stub.authority(), "", ""}, kShort);
      EXPECT_THROW(store.list({}), StoreError) << fields;
    }
}

TEST(PoolWebHdfsStoreTimed, AnswersThatAreNoneAreRefused) {
  for (const char* body :
       {"", "[]", "{}", "{\"FileStatuses\":3}", "{\"FileStatuses\":{\"FileStatus\":[3]}}",
        "{\"FileStatuses\":{\"FileStatus\":[{\"type\":\"FILE\"}]}}",
        "{\"FileStatuses\":{\"FileStatus\":[{\"type\":\"FILE\",\"pathSuffix\":1}]}}"}) {
    HttpStub stub([&](const std::string&) { return HttpStub::answer(200, body); });
    WebHdfsStore store({stub.authority(), "", ""}, kShort);
    EXPECT_THROW(store.list({}), StoreError) << body;
  }
}

}  // namespace
}  // namespace tributary::pool
