// Redirects of a store lead to no loopback or link-local host, unless the server is at one.
#include "pool/store/redirect_guard.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "pool/store/http.h"
#include "tests/pool/store/http_stub.h"

namespace tributary::pool {
namespace {

using testing::HasSubstr;

sockaddr_in ipv4(const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, text, &address.sin_addr);
  return address;
}

bool may_connect(RedirectGuard& guard, const char* text) {
  const sockaddr_in address = ipv4(text);
  return guard.may_connect(reinterpret_cast<const sockaddr&>(address));
}

TEST(PoolRedirectGuardTimed, PlacesOfAddresses) {
  for (const char* text : {"127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"})
    EXPECT_EQ(place_of(text), HostPlace::loopback) << text;
  for (const char* text :
       {"169.254.0.1", "169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254"})
    EXPECT_EQ(place_of(text), HostPlace::link_local) << text;
  for (const char* text : {"10.0.0.1", "192.168.1.1", "169.253.1.1", "fd00::1", "2001:db8::1"})
    EXPECT_EQ(place_of(text), HostPlace::elsewhere) << text;
}

TEST(PoolRedirectGuardTimed, AServerElsewhereRedirectsToNoServiceOfThisHostOrLink) {
  RedirectGuard guard;
  EXPECT_TRUE(may_connect(guard, "10.0.0.1")) << "the server that is asked";
  EXPECT_TRUE(guard.may_ask("10.0.0.1"));
  EXPECT_TRUE(may_connect(guard, "10.0.0.2"));
  EXPECT_TRUE(guard.may_ask("10.0.0.2"));
  EXPECT_TRUE(guard.refusal().empty());
  EXPECT_FALSE(may_connect(guard, "127.0.0.1"));
  EXPECT_THAT(guard.refusal(), HasSubstr("redirects to 127.0.0.1, a loopback address"));
  EXPECT_FALSE(may_connect(guard, "169.254.169.254"));
  EXPECT_FALSE(guard.may_ask("::1")) << "by a connection that was there";
}

TEST(PoolRedirectGuardTimed, AServerAtALoopbackAddressRedirectsThere) {
  RedirectGuard guard;
  EXPECT_TRUE(may_connect(guard, "127.0.0.1"));
  EXPECT_TRUE(guard.may_ask("127.0.0.1"));
  EXPECT_TRUE(may_connect(guard, "127.0.0.2"));
  EXPECT_TRUE(guard.may_ask("10.0.0.1"));
  EXPECT_FALSE(guard.may_ask("169.254.169.254"));
}

// No packet leaves: the address is refused before a connection is tried.
TEST(PoolRedirectGuardTimed, L1RedirectsOfAStoreAreJudged) {
  const StoreTimeouts timeouts{Duration::seconds(2), Duration::seconds(1)};
  for (const char* target : {"http://169.254.169.254/latest", "http://[fe80::1]/x"}) {
    HttpStub stub([&](const std::string&) {
      return HttpStub::answer(307, "", std::string("Location: ") + target + "\r\n");
    });
    Http http(timeouts);
    HttpRequest request;
    request.url = stub.url() + "/x";
    request.follow_redirects = true;
    try {
      http.get_text(request, 100);
      ADD_FAILURE() << target << " was asked";
    } catch (const StoreError& error) {
      EXPECT_EQ(error.fault(), StoreFault::refused);
      EXPECT_THAT(error.what(), HasSubstr("link-local address; allowed: others"));
    }
  }
}

}  // namespace
}  // namespace tributary::pool
