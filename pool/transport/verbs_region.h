// Targets of reads, registered with every RDMA device in use; host memory and GPU memory.
//
// Host memory that cannot be registered is an error. GPU memory is tried as a dmabuf (the kernel's
// own way), then by its address, which works if nvidia-peermem is loaded. If neither works, reads
// do not reach it, and its user takes another way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "pool/transport/file.h"
#include "pool/transport/transport.h"

struct ibv_context;
struct ibv_pd;
struct ibv_mr;

namespace tributary::pool {

// The calls of libibverbs; tests replace them. For null results errno has the reason.
struct VerbsMemory {
  ibv_pd* (*open)(ibv_context*);
  void (*close)(ibv_pd*);
  ibv_mr* (*add)(ibv_pd*, std::span<std::byte>);
  ibv_mr* (*add_dmabuf)(ibv_pd*, const DeviceBuffer&);
  void (*remove)(ibv_mr*);
  std::uint32_t (*key)(const ibv_mr*);
};
const VerbsMemory& libibverbs();

// Any thread may call: connections are made beside reads.
class Registry {
 public:
  struct Buffer;
  using Place = std::list<Buffer>::iterator;

  explicit Registry(const VerbsMemory& calls = libibverbs()) : calls_(calls) {}

  // Throws TransportError. `host`: a failure to register is an error.
  Place add(const DeviceBuffer& memory, bool host);
  void remove(Place at);
  // The protection domain of a device; its first use registers all buffers with it.
  ibv_pd* domain_of(ibv_context* device);
  // Throws TransportError for memory that is not registered with the domain.
  [[nodiscard]] std::uint32_t key_of(ibv_pd* domain, std::span<const std::byte> part) const;
  // Whether `part` is device memory that reads of the domain reach.
  [[nodiscard]] bool reaches(ibv_pd* domain, std::span<const std::byte> part) const;

 private:
  struct Remove {
    void (*call)(ibv_mr*);
    void operator()(ibv_mr* region) const { call(region); }
  };
  struct Close {
    void (*call)(ibv_pd*);
    void operator()(ibv_pd* domain) const { call(domain); }
  };

 public:
  struct Buffer {
    DeviceBuffer memory;
    File dmabuf;
    bool host = true;
    std::map<ibv_pd*, std::unique_ptr<ibv_mr, Remove>> regions;
  };

 private:
  void register_with(ibv_pd* domain, Buffer& buffer);
  [[nodiscard]] const Buffer* find(std::span<const std::byte> part) const;

  const VerbsMemory& calls_;
  mutable std::mutex mutex_;  // of the two below
  std::map<ibv_context*, std::unique_ptr<ibv_pd, Close>> domains_;
  std::list<Buffer> buffers_;  // newest first
};

}  // namespace tributary::pool
