// Buckets: listings in pages, keys with strange characters, objects that change.
#include "pool/store/s3_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pool/store/http_stub.h"

namespace tributary::pool {
namespace {

using testing::HasSubstr;

std::string page(const std::string& contents, const std::string& token = "") {
  return "<?xml version=\"1.0\"?><ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         contents +
         (token.empty() ? "" : "<NextContinuationToken>" + token + "</NextContinuationToken>") +
         "</ListBucketResult>";
}
std::string object(const std::string& key, int bytes) {
  return "<Contents><Key>" + key + "</Key><ETag>&quot;e1&quot;</ETag><Size>" +
         std::to_string(bytes) + "</Size></Contents>";
}

S3Store make(const HttpStub& stub, const std::string& prefix) {
  S3Options options;
  options.endpoint = stub.url();
  options.bucket = "b";
  options.prefix = prefix;
  options.key = "AKEY";
  options.secret = "SECRET";
  return {options, {Duration::seconds(2), Duration::seconds(1)}};
}

TEST(PoolS3StoreTimed, ListsAllPages) {
  HttpStub stub([](const std::string& head) {
    if (head.find("continuation-token=t%2B1") != std::string::npos)
      return HttpStub::answer(200, page(object("d/a&amp;b.tar", 7)));
    return HttpStub::answer(200, page(object("d/z.tar", 5) + object("d/", 0), "t+1"));
  });
  S3Store store = make(stub, "d");
  const auto objects = store.list({});
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].name, "a&b.tar");
  EXPECT_EQ(objects[0].bytes, 7u);
  EXPECT_EQ(objects[0].version, version_of("e1"));
  EXPECT_EQ(objects[1].name, "z.tar");
  EXPECT_THAT(stub.heads()[0], HasSubstr("GET /b?encoding-type=url&list-type=2&prefix=d%2F HTTP"));
  EXPECT_THAT(stub.heads()[0], HasSubstr("AWS4-HMAC-SHA256 Credential=AKEY/"));
  EXPECT_THAT(stub.heads()[0], HasSubstr("x-amz-content-sha256"));
}

TEST(PoolS3StoreTimed, L1KeysMayHaveEveryCharacterReference) {
  const auto name = [](const std::string& key) {
    return parse_s3_page(page(object(key, 1))).objects.at(0).name;
  };
  EXPECT_EQ(name("&lt;a&gt; &quot;b&quot; &apos;c&apos;"), "<a> \"b\" 'c'");
  EXPECT_EQ(name("it&#x27;s &#39;d&#39; &#xE9;&#8364;&#x1F600;"),
            "it's 'd' \u00E9\u20AC\U0001F600");
  EXPECT_EQ(name("&amp;lt; &amp;#39;"), "&lt; &#39;") << "each is resolved once";
  for (const std::string plain : {"&", "a&b;", "&;", "&#;", "&#x;", "&#39", "&#3 9;"})
    EXPECT_EQ(name(plain), plain);
  EXPECT_THROW(name("&#x110000;"), StoreError) << "no character";
}

TEST(PoolS3StoreTimed, L1KeysGoOutAsTheyAre) {
  const std::string key = "./a/../b//c/./\t\r\n d+e%";
  HttpStub stub([&](const std::string& head) {
    if (head.find("list-type=2") == std::string::npos)
      return HttpStub::answer(206, "data", "Content-Range: bytes 0-3/4\r\nETag: \"e1\"\r\n");
    EXPECT_THAT(head, HasSubstr("encoding-type=url"));
    return HttpStub::answer(200, page("<EncodingType>url</EncodingType>" +
                                      object("d/./a/../b//c/./%09%0D%0A+d%2Be%25", 4)));
  });
  S3Store store = make(stub, "d");
  const auto objects = store.list({});
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0].name, key);
  std::vector<std::byte> out(4);
  store.read(objects[0], 0, out);
  EXPECT_THAT(stub.heads().back(),
              HasSubstr("GET /b/d/./a/../b//c/./%09%0D%0A%20d%2Be%25 HTTP/1.1\r\n"));
}

TEST(PoolS3StoreTimed, KeysOfServersThatDoNotEncodeStayAsTheyAre) {
  EXPECT_EQ(parse_s3_page(page(object("a+b%20c", 1))).objects.at(0).name, "a+b%20c");
  EXPECT_THROW(parse_s3_page(page("<EncodingType>url</EncodingType>" + object("a%2", 1))),
               StoreError);
}

// The listing of a server whose answers to the first and the second request come first.
std::vector<StoreObject> listed_after(const std::vector<std::string>& failures,
                                      std::uint32_t retries) {
  std::size_t at = 0;
  HttpStub stub([&](const std::string& head) {
    if (head.find("continuation-token=more") == std::string::npos)
      return HttpStub::answer(200, page(object("a", 1), "more"));
    return at < failures.size() ? failures[at++] : HttpStub::answer(200, page(object("b", 2)));
  });
  S3Store store = make(stub, "");
  return store.list(Retry({Duration::us(10), Duration::us(10), retries}));
}

TEST(PoolS3StoreTimed, L1EachRequestOfAListingIsTriedAgain) {
  const std::string cut = "HTTP/1.1 200 X\r\nContent-Length: 900\r\nConnection: close\r\n\r\n<List";
  const std::string head = "HTTP/1.1 200 X\r\nConnection: close";
  const std::string slow;  // no head at all
  for (const std::string& failure :
       {HttpStub::answer(503, ""), HttpStub::answer(429, ""), HttpStub::answer(500, ""),
        HttpStub::answer(400, "<Error><Code>RequestTimeout</Code></Error>"),
        HttpStub::answer(200, "<ListBucketResult>"), cut, head, slow}) {
    EXPECT_THROW(listed_after({failure}, 0), StoreError) << failure;
    EXPECT_EQ(listed_after({failure}, 1).size(), 2u) << failure;
  }
  EXPECT_THROW(listed_after({HttpStub::answer(403, "")}, 5), StoreError);
  EXPECT_THROW(listed_after({HttpStub::answer(400, "<Code>InvalidToken</Code>")}, 5), StoreError);
}

StoreFault fault(const std::string& answer, const StoreObject& object, std::size_t bytes = 4) {
  HttpStub stub([&](const std::string&) { return answer; });
  S3Store store = make(stub, "d");
  std::vector<std::byte> out(bytes);
  try {
    store.read(object, 0, out);
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(), HasSubstr(stub.url() + "/b/d/k"));
    return error.fault();
  }
  ADD_FAILURE() << "no error for: " << answer;
  return StoreFault::refused;
}

TEST(PoolS3StoreTimed, ObjectThatChangedIsNoticed) {
  const std::string range = "Content-Range: bytes 0-3/4\r\n";
  const std::string answer = HttpStub::answer(206, "data", range + "ETag: \"e2\"\r\n");
  HttpStub stub([&](const std::string&) { return answer; });
  S3Store store = make(stub, "");
  std::vector<std::byte> out(4);
  EXPECT_NO_THROW(store.read({"k", 4, version_of("e2")}, 0, out));
  EXPECT_EQ(fault(answer, {"k", 4, version_of("e1")}), StoreFault::changed);
  EXPECT_EQ(fault(answer, {"k", 5, version_of("e2")}), StoreFault::changed) << "another size";
}

TEST(PoolS3StoreTimed, L1VersionsThatNothingProvesAreRefused) {
  const std::string range = "Content-Range: bytes 0-3/4\r\n";
  EXPECT_EQ(fault(HttpStub::answer(206, "data", range), {"k", 4, version_of("e1")}),
            StoreFault::refused)
      << "an answer without ETag";
  EXPECT_EQ(fault(HttpStub::answer(206, "data", range + "ETag: \"e1\"\r\n"), {"k", 4, 0}),
            StoreFault::refused)
      << "a manifest without version";
}

TEST(PoolS3StoreTimed, L1EmptyObjectsAreProvenToo) {
  HttpStub stub([&](const std::string&) { return HttpStub::answer(200, "", "ETag: \"e1\"\r\n"); });
  S3Store store = make(stub, "");
  EXPECT_NO_THROW(store.read({"k", 0, version_of("e1")}, 0, {}));
  EXPECT_EQ(fault(HttpStub::answer(200, "", "ETag: \"e2\"\r\n"), {"k", 0, version_of("e1")}, 0),
            StoreFault::changed);
  EXPECT_EQ(fault(HttpStub::answer(200, "x", "ETag: \"e1\"\r\n"), {"k", 0, version_of("e1")}, 0),
            StoreFault::refused);
}

TEST(PoolS3StoreTimed, ListingsThatAreNoneAreRefused) {
  EXPECT_THROW(parse_s3_page("<html>"), StoreError);
  EXPECT_THROW(parse_s3_page(page("<Contents><Key>a</Key></Contents>")), StoreError);
  EXPECT_THROW(parse_s3_page(page("<Contents><Key>a</Key><Size>x</Size></Contents>")), StoreError);
  EXPECT_THROW(parse_s3_page(page("<Contents><Key>a</Key><Size>1</Size></Contents>")), StoreError)
      << "no ETag";
  const std::string whole = page(object("a", 1) + object("b", 2));
  EXPECT_THROW(parse_s3_page(whole.substr(0, whole.find("<Key>b"))), StoreError) << "cut";
  EXPECT_THROW(parse_s3_page(page("<IsTruncated>true</IsTruncated>")), StoreError) << "no token";
  EXPECT_THROW(parse_s3_page(page("<Contents><Key>a</Key><Size>18446744073709551616</Size>"
                                  "<ETag>e</ETag></Contents>")),
               StoreError)
      << "beyond 64 bits";
}

TEST(PoolS3StoreTimed, L1ListingsWithoutEndAreRefused) {
  HttpStub same([](const std::string&) { return HttpStub::answer(200, page("", "same")); });
  EXPECT_THROW(make(same, "").list({}), StoreError);
  HttpStub alternating([](const std::string& head) {
    const bool odd = head.find("continuation-token=odd") != std::string::npos;
    return HttpStub::answer(200, page(object("a", 1), odd ? "even" : "odd"));
  });
  EXPECT_THROW(make(alternating, "").list({}), StoreError);
}

// Each page has another token and another object.
TEST(PoolS3StoreTimed, L1PagesWithoutEndAreRefused) {
  int pages = 0;
  HttpStub stub([&](const std::string&) {
    const std::string number = std::to_string(++pages);
    return HttpStub::answer(200, page(object("o" + number, 1), "t" + number));
  });
  S3Options options;
  options.endpoint = stub.url();
  options.bucket = "bucket";
  options.listing.entries = 3;
  try {
    S3Store(options, {}).list({});
    ADD_FAILURE() << "has an end";
  } catch (const StoreError& error) {
    EXPECT_STREQ(error.what(),
                 "bucket: the listing goes beyond 3 entries; allowed: so many in a store");
  }
  EXPECT_EQ(pages, 4);
}

// Each page has another token.
TEST(PoolS3StoreTimed, L1EmptyPagesWithoutEndAreRefused) {
  int pages = 0;
  HttpStub stub([&](const std::string&) {
    return HttpStub::answer(200, page("", "t" + std::to_string(++pages)));
  });
  S3Store store = make(stub, "");
  EXPECT_THROW(store.list({}), StoreError);
  EXPECT_EQ(pages, 1000);
}

TEST(PoolS3StoreTimed, L1EntitiesOfADocumentTypeAreNotResolved) {
  const std::string declared =
      "<!DOCTYPE x [<!ENTITY a \"b\"><!ENTITY f SYSTEM \"file:///etc/passwd\">]>";
  EXPECT_EQ(parse_s3_page(declared + page(object("&a;&f;", 1))).objects.at(0).name, "&a;&f;");
}

TEST(PoolS3StoreTimed, L1KeysKeepTheirBlanksAndLines) {
  for (const std::string key : {" ", " a ", "a\tb", "a&#13;&#10;b", "<![CDATA[<a>]]>"})
    EXPECT_EQ(parse_s3_page(page(object(key, 1))).objects.at(0).name,
              key == "a&#13;&#10;b"      ? "a\r\nb"
              : key == "<![CDATA[<a>]]>" ? "<a>"
                                         : key);
}

}  // namespace
}  // namespace tributary::pool
