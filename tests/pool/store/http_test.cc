// What HTTP answers mean to a store: which are tried again, which end it, and that none hangs.
#include "pool/store/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pool/store/http_stub.h"

namespace tributary::pool {
namespace {

using testing::HasSubstr;

const StoreTimeouts kShort{Duration::seconds(2), Duration::seconds(1)};

// An answer to a request for the first 4 of 40 bytes.
std::string range(const std::string& body, const std::string& headers = "") {
  return HttpStub::answer(206, body, "Content-Range: bytes 0-3/40\r\n" + headers);
}

StoreFault fault_of(const std::string& answer, std::size_t wanted = 4, bool follow = false) {
  HttpStub stub([&](const std::string&) { return answer; });
  Http http(kShort);
  std::vector<std::byte> out(wanted);
  HttpRequest request;
  request.url = stub.url() + "/x";
  request.follow_redirects = follow;
  try {
    http.get_range(request, {0, out, 40});
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(), HasSubstr(follow ? "http" : stub.url()));
    return error.fault();
  }
  ADD_FAILURE() << "no error for: " << answer;
  return StoreFault::refused;
}

TEST(PoolHttpTimed, RangesAreAskedForAndKept) {
  HttpStub stub([](const std::string& head) {
    EXPECT_THAT(head, HasSubstr("Range: bytes=10-13\r\n"));
    return HttpStub::answer(206, "data", "Content-Range: bytes 10-13/40\r\nETag: \"abc\"\r\n");
  });
  Http http(kShort);
  HttpRequest request;
  request.url = stub.url() + "/x";
  std::vector<std::byte> out(4);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(http.get_range(request, {10, out, 40}).etag, "\"abc\"");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(out.data()), 4), "data");
}

TEST(PoolHttpTimed, StatusesAreFaults) {
  EXPECT_EQ(fault_of(HttpStub::answer(404, "")), StoreFault::not_found);
  EXPECT_EQ(fault_of(HttpStub::answer(403, "<Code>SignatureDoesNotMatch</Code>")),
            StoreFault::denied);
  EXPECT_EQ(fault_of(HttpStub::answer(401, "")), StoreFault::denied);
  EXPECT_EQ(fault_of(HttpStub::answer(400, "")), StoreFault::refused);
  EXPECT_EQ(fault_of(HttpStub::answer(500, "")), StoreFault::unavailable);
  EXPECT_EQ(fault_of(HttpStub::answer(503, "")), StoreFault::unavailable);
  EXPECT_EQ(fault_of(HttpStub::answer(429, "")), StoreFault::unavailable);
  EXPECT_EQ(fault_of(HttpStub::answer(302, "", "Location: /y\r\n")), StoreFault::refused);
}

TEST(PoolHttpTimed, HalfAnAnswerIsIncomplete) {
  const std::string head = "HTTP/1.1 206 X\r\nContent-Range: bytes 0-3/40\r\n";
  EXPECT_EQ(fault_of(head + "Content-Length: 4\r\nConnection: close\r\n\r\nda"),
            StoreFault::incomplete);
  EXPECT_EQ(fault_of(head + "Connection: close\r\n\r\nda"), StoreFault::incomplete);
}

TEST(PoolHttpTimed, L1AnswersOfAnotherRangeAreRefused) {
  EXPECT_EQ(fault_of(range("datadata")), StoreFault::refused);
  EXPECT_EQ(fault_of(range("da")), StoreFault::refused);
  EXPECT_EQ(fault_of(HttpStub::answer(206, "data")), StoreFault::refused) << "no Content-Range";
  EXPECT_EQ(fault_of(HttpStub::answer(206, "data", "Content-Range: bytes 4-7/40\r\n")),
            StoreFault::refused);
  EXPECT_EQ(fault_of(HttpStub::answer(206, "data", "Content-Range: bytes 0-3/41\r\n")),
            StoreFault::changed);
  EXPECT_EQ(fault_of(range("data", "Content-Range: bytes 4-7/40\r\n")), StoreFault::refused)
      << "two of them";
  EXPECT_EQ(fault_of(HttpStub::answer(200, "da")), StoreFault::refused);
  EXPECT_EQ(fault_of(HttpStub::answer(200, "data")), StoreFault::refused)
      << "4 bytes are not the whole object";
  EXPECT_EQ(fault_of(HttpStub::answer(200, std::string(40, 'x'))), StoreFault::refused)
      << "the whole object, of which 4 bytes are wanted";
  EXPECT_EQ(fault_of(HttpStub::answer(203, "data")), StoreFault::refused);
}

TEST(PoolHttpTimed, L1ErrorsNameUrlAndBothRanges) {
  HttpStub stub([](const std::string&) {
    return HttpStub::answer(206, "data", "Content-Range: bytes 4-7/40\r\n");
  });
  Http http(kShort);
  HttpRequest request;
  request.url = stub.url() + "/x";
  std::vector<std::byte> out(4, std::byte{7});
  try {
    http.get_range(request, {10, out, 40});
    FAIL() << "another range was taken";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.what(), request.url +
                                ": asked for bytes 10-13 of 40, given HTTP 206 with Content-Range "
                                "'bytes 4-7/40' and 4 bytes of content");
  }
  EXPECT_EQ(out, std::vector<std::byte>(4, std::byte{7})) << "the target is as it was";
}

TEST(PoolHttpTimed, WholeObjectsMayComeWithoutARange) {
  EXPECT_EQ(fault_of(HttpStub::answer(200, "1234"), 40), StoreFault::refused);
  HttpStub stub([](const std::string&) { return HttpStub::answer(200, std::string(40, 'x')); });
  Http http(kShort);
  HttpRequest request;
  request.url = stub.url() + "/x";
  std::vector<std::byte> out(40);
  EXPECT_NO_THROW(http.get_range(request, {0, out, 40}));
  EXPECT_EQ(out, std::vector<std::byte>(40, std::byte{'x'}));
}

TEST(PoolHttpTimed, HeadersOfARedirectAreNotThoseOfTheAnswer) {
  HttpStub stub([](const std::string& head) {
    if (head.starts_with("GET /x"))
      return HttpStub::answer(
          307, "", "Location: /y\r\nETag: \"redirect\"\r\nContent-Range: bytes 0-3/40\r\n");
    return HttpStub::answer(206, "data");
  });
  Http http(kShort);
  HttpRequest request;
  request.url = stub.url() + "/x";
  request.follow_redirects = true;
  std::vector<std::byte> out(4);
  EXPECT_THROW(http.get_range(request, {0, out, 40}), StoreError);
  request.url = stub.url() + "/z";
  EXPECT_THROW(http.get_text(request, 100), StoreError) << "206: a part of the text";
}

TEST(PoolHttpTimed, RedirectsInACircleEnd) {
  EXPECT_EQ(fault_of(HttpStub::answer(307, "", "Location: /x\r\n"), 4, true), StoreFault::refused);
}

TEST(PoolHttpTimed, RedirectsToOtherProtocolsAreRefused) {
  EXPECT_EQ(fault_of(HttpStub::answer(307, "", "Location: file:///etc/passwd\r\n"), 4, true),
            StoreFault::refused);
}

TEST(PoolHttpTimed, ServerThatHangsIsNoticed) {
  EXPECT_EQ(fault_of(""), StoreFault::timeout);
  EXPECT_EQ(
      fault_of("HTTP/1.1 206 X\r\nContent-Range: bytes 0-3/40\r\nContent-Length: 4\r\n\r\nda"),
      StoreFault::timeout);
}

constexpr std::size_t kMuch = 1 << 20;  // takes days at a byte every 20 ms

std::string head_of_much() {
  const std::string bytes = std::to_string(kMuch);
  return "HTTP/1.1 206 X\r\nContent-Length: " + bytes + "\r\nContent-Range: bytes 0-" +
         std::to_string(kMuch - 1) + "/" + bytes + "\r\n\r\n";
}

StoreError error_of_much(const HttpStub& stub, Http& http) {
  HttpRequest request;
  request.url = stub.url();
  std::vector<std::byte> out(kMuch);
  try {
    http.get_range(request, {0, out, kMuch});
  } catch (const StoreError& error) {
    return error;
  }
  throw std::logic_error("all of it came");
}

TEST(PoolHttpTimed, L1ServerThatDripsIsGivenUp) {
  const HttpStub stub([](const std::string&) { return head_of_much(); }, 20);
  Http http(kShort);
  const StoreError error = error_of_much(stub, http);
  EXPECT_EQ(error.fault(), StoreFault::timeout) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("16384 bytes/sec"));
}

TEST(PoolHttpTimed, StoppedReadsEndThoughTheServerDrips) {
  StopFlag stop;
  const HttpStub stub(
      [&stop](const std::string&) {
        stop.set();
        return head_of_much();
      },
      20);
  Http http({Duration::seconds(2), Duration::seconds(600), 1});
  http.end_on(stop);
  EXPECT_THAT(error_of_much(stub, http).what(), HasSubstr("reading was stopped"));
}

TEST(PoolHttpTimed, NothingListensIsUnavailable) {
  std::string url;
  {
    HttpStub stub([](const std::string&) { return std::string(); });
    url = stub.url();
  }
  Http http(kShort);
  HttpRequest request;
  request.url = url;
  try {
    http.get_text(request, 10);
    FAIL();
  } catch (const StoreError& error) {
    EXPECT_EQ(error.fault(), StoreFault::unavailable);
    EXPECT_TRUE(error.passing());
  }
}

TEST(PoolHttpTimed, TextHasALimit) {
  HttpStub stub([](const std::string&) { return HttpStub::answer(200, "0123456789"); });
  Http http(kShort);
  HttpRequest request;
  request.url = stub.url();
  EXPECT_EQ(http.get_text(request, 10).body, "0123456789");
  EXPECT_THROW(http.get_text(request, 9), StoreError);
}

}  // namespace
}  // namespace tributary::pool
