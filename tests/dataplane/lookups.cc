// These stand before the C library's functions of the same names, also for libpcap.
#include "tests/dataplane/lookups.h"

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/ether.h>

#include <atomic>

namespace tributary::dataplane {
namespace {

std::atomic<unsigned> count{0};

}  // namespace

unsigned lookups() {
  return count.load();
}

}  // namespace tributary::dataplane

namespace {

template <typename T>
T not_found(T answer) {
  tributary::dataplane::count.fetch_add(1);
  return answer;
}

}  // namespace

extern "C" {

int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  using Function = int(const char*, const char*, const addrinfo*, addrinfo**);
  static auto* const kReal = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "getaddrinfo"));
  addrinfo numeric = hints != nullptr ? *hints : addrinfo{};
  const int asked = numeric.ai_flags;
  constexpr int kNumbers = AI_NUMERICHOST | AI_NUMERICSERV;
  numeric.ai_flags |= kNumbers;
  const int error = kReal(node, service, &numeric, found);
  const bool would_ask = (node != nullptr && (asked & AI_NUMERICHOST) == 0) ||
                         (service != nullptr && (asked & AI_NUMERICSERV) == 0);
  return error != 0 && would_ask ? not_found(error) : error;
}

hostent* gethostbyname(const char*) {
  return not_found(nullptr);
}

int getnetbyname_r(const char*, netent*, char*, size_t, netent** found, int*) {
  *found = nullptr;
  return not_found(0);
}

int getprotobyname_r(const char*, protoent*, char*, size_t, protoent** found) {
  *found = nullptr;
  return not_found(0);
}

int ether_hostton(const char*, ether_addr*) {
  return not_found(-1);
}
}
