// Addresses of stores.
#include "pool/store/url.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "pool/store/store.h"

namespace tributary::pool {
namespace {

TEST(PoolStoreUrl, TakesAddressesApart) {
  const StoreUrl url = parse_store_url("s3://bucket/a%20b/c?endpoint=http%3A%2F%2Fh%3A9&region=x");
  EXPECT_EQ(url.scheme, "s3");
  EXPECT_EQ(url.host, "bucket");
  EXPECT_EQ(url.path, "/a b/c");
  EXPECT_EQ(url.query.at("endpoint"), "http://h:9");
  EXPECT_EQ(url.query.at("region"), "x");
  EXPECT_EQ(parse_store_url("file:///data").path, "/data");
}

TEST(PoolStoreUrl, EscapesComeBack) {
  const std::string text = "a b/ü?&=%~.";
  EXPECT_EQ(percent_encode("a b/c", true), "a%20b/c");
  EXPECT_EQ(percent_encode("a b/c", false), "a%20b%2Fc");
  EXPECT_EQ(percent_decode(percent_encode(text, false)), text);
}

TEST(PoolStoreUrl, SaysWhatIsWrong) {
  for (const char* bad :
       {"", "nothing", "ftp://h/x", "file://host/x", "file://x", "s3:///x", "webhdfs:///x",
        "s3://b?endpoint=h:9", "s3://b?color=red", "s3://b?x", "file:///a%2", "file:///a%zz"})
    EXPECT_THROW(open_store(bad), std::invalid_argument) << bad;
  EXPECT_NO_THROW(open_store("webhdfs://h:9870/data?user=me"));
}

}  // namespace
}  // namespace tributary::pool
