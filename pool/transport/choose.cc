// Chooses the transport for an address, and makes readers for any transport.
#include <arpa/inet.h>

#include <mutex>

#include "pool/transport/fabric.h"
#include "pool/transport/mapped.h"
#include "pool/transport/verbs.h"

namespace tributary::pool {
namespace {

bool is_loopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "::1";
}

class AnyDomain : public ReadDomain {
 public:
  std::unique_ptr<NodeReader> connect(const RemoteMemory& memory) override {
    if (memory.transport == TransportKind::verbs) return verbs().connect(memory);
    if (memory.transport == TransportKind::mapped) return read_by_mapping(memory);
    return read_by_fabric(memory);
  }
  std::unique_ptr<RegisteredBuffer> register_buffer(std::span<std::byte> buffer) override {
    // Only verbs needs it. The verbs domain registers buffers with a device when the first
    // connection uses it.
    return verbs().register_buffer(buffer);
  }
  std::unique_ptr<RegisteredBuffer> register_device(const DeviceBuffer& memory) override {
    return verbs().register_device(memory);
  }

 private:
  ReadDomain& verbs() {
    const std::lock_guard lock(mutex_);
    if (!verbs_) verbs_ = make_verbs_domain();
    return *verbs_;
  }
  std::mutex mutex_;
  std::unique_ptr<ReadDomain> verbs_;
};

}  // namespace

const char* name_of(TransportKind kind) {
  switch (kind) {
    case TransportKind::automatic: return "auto";
    case TransportKind::verbs: return "verbs";
    case TransportKind::mapped: return "mapped";
    case TransportKind::tcp: return "tcp";
    case TransportKind::shm: return "shm";
  }
  return "unknown";
}

TransportKind choose_transport(const std::string& host) {
  if (verbs_has(host)) return TransportKind::verbs;
  return is_loopback(host) ? TransportKind::mapped : TransportKind::tcp;
}

std::unique_ptr<MemoryServer> serve_memory(TransportKind kind, const std::string& host,
                                           const LocalMemory& memory) {
  if (kind == TransportKind::automatic) kind = choose_transport(host);
  if (kind == TransportKind::verbs) return serve_by_verbs(host, memory);
  if (kind == TransportKind::mapped) return serve_by_mapping(memory);
  return serve_by_fabric(kind, host, memory.bytes);
}

std::unique_ptr<ReadDomain> make_read_domain() {
  return std::make_unique<AnyDomain>();
}

}  // namespace tributary::pool
