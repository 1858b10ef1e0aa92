#include "tests/poold/try_doors.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "pool/link/node_link.h"
#include "pool/loader/manifest_file.h"
#include "pool/loader/pool_config.h"
#include "pool/transport/transport.h"

namespace {

using namespace tributary;

constexpr std::size_t kHeaderBytes = 32;
constexpr std::chrono::seconds kPatience(100);  // emulated machines may miss a first try
constexpr int kWaitMs = 100;

// A connection to the first node of a file, with a lease.
std::unique_ptr<pool::NodeLink> greet(const std::string& file) {
  const pool::PoolConfig config = pool::load_pool_config(file);
  const pool::ManifestFile manifest(config.dataset.manifest);
  const pool::PoolNodeConfig& node = config.nodes[0];
  const pool::LinkTarget target{node.address, node.name, pool::greeted_name(config),
                                manifest->fingerprint(), pool::read_token(config)};
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    try {
      return std::make_unique<pool::NodeLink>(target, pool::LinkUse::read);
    } catch (const pool::StreamError&) {
      if (std::chrono::steady_clock::now() > end) throw;
      std::this_thread::yield();
    }
  }
}

enum class Wait : std::uint8_t { polls, sleeps };

// Reads the memory's first bytes, as a loader that only polls, or sleeps until there is something.
class Reader {
 public:
  Reader(pool::ReadDomain& domain, const pool::RemoteMemory& memory)
      : header_(kHeaderBytes),
        registered_(domain.register_buffer(header_)),
        reader_(domain.connect(memory)) {}

  // Throws std::runtime_error if the transport never says how the read ended.
  bool reads(Wait wait) {
    std::array<pool::Completion, 1> done{};
    const auto end = std::chrono::steady_clock::now() + kPatience;
    bool posted = false;
    while (std::chrono::steady_clock::now() < end) {
      posted = posted || reader_->post({0, header_, {}, 1});
      if (reader_->poll(done) != 0) return done[0].good;
      const int file = posted && wait == Wait::sleeps ? reader_->wait_file() : -1;
      pollfd ready{file, POLLIN, 0};
      if (file >= 0) ::poll(&ready, 1, kWaitMs);
      std::this_thread::yield();
    }
    throw std::runtime_error("a read has no end");
  }

 private:
  std::vector<std::byte> header_;
  std::unique_ptr<pool::RegisteredBuffer> registered_;
  std::unique_ptr<pool::NodeReader> reader_;
};

bool reads(const std::function<bool()>& read) {
  try {
    return read();
  } catch (const pool::TransportError&) {
    return false;
  }
}

bool read_anew(pool::ReadDomain& domain, const pool::RemoteMemory& memory) {
  return reads([&] { return Reader(domain, memory).reads(Wait::polls); });
}

bool say(const char* what, bool reads, bool should_read) {
  std::printf("doors: %s: %s\n", what, reads ? "read" : "refused");
  std::fflush(stdout);
  return reads == should_read;
}

// The lease ends with the connection. The node learns of that, and then ends the permit.
bool ends_with_its_lease(Reader& reader, Wait wait, std::unique_ptr<pool::NodeLink> link) {
  link.reset();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (reads([&] { return reader.reads(wait); }))
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

}  // namespace

bool try_doors(const std::string& one, const std::string& other) {
  const auto domain = pool::make_read_domain();
  auto link = greet(one);
  auto others = greet(other);
  const pool::RemoteMemory memory = memory_of(link->welcome());
  const pool::RemoteMemory others_memory = memory_of(others->welcome());
  pool::RemoteMemory stolen = memory;
  stolen.key = others_memory.key;
  pool::RemoteMemory uninvited = memory;
  // The secret: over verbs the ticket behind the address, else the key.
  if (memory.transport == pool::TransportKind::verbs)
    uninvited.address.back() ^= std::byte{1};
  else
    uninvited.key ^= 1;
  bool good = say("a tenant's key is another's", stolen.key == memory.key, false);
  // Over verbs keys are of a tenant's queue pairs alone; over tcp they are all that there is.
  if (memory.transport == pool::TransportKind::verbs)
    good &= say("another tenant's key", read_anew(*domain, stolen), false);
  good &= say("no permit", read_anew(*domain, uninvited), false);
  Reader polls(*domain, memory);
  good &= say("own key", polls.reads(Wait::polls), true);
  Reader sleeps(*domain, others_memory);
  good &= say("another tenant's own key", sleeps.reads(Wait::sleeps), true);
  good &= say("own key after the lease", !ends_with_its_lease(polls, Wait::polls, std::move(link)),
              false);
  good &= say("own permit after the lease", read_anew(*domain, memory), false);
  good &= say("own key after the lease, asleep",
              !ends_with_its_lease(sleeps, Wait::sleeps, std::move(others)), false);
  return good;
}
