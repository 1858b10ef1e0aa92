// Reads of a node's memory by a loader, whatever carries them (L2).
//
//   node:    serve_memory()  ──▶ RemoteMemory, which the node's control connection hands out
//   loader:  ReadDomain ──connect(RemoteMemory)──▶ NodeReader ──post()/poll()──▶ completions
//
//   verbs         RC READ by rdmacm: the node's CPU takes no part
//   mapped        on one machine: the loader maps the node's memory file, read-only, and copies;
//                 the node's CPU takes no part
//   tcp           libfabric's tcp;ofi_rxm: a thread of the node serves the reads
//   shm           libfabric's shm: between processes of one machine; a thread of the node polls.
//                 The kernel's right to read another process's memory guards it, not the key
//
// A NodeReader and its domain are one thread's. Closing a NodeReader ends all that is in flight: no
// byte arrives in a target after that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::pool {

enum class TransportKind : std::uint8_t { automatic, verbs, mapped, tcp, shm };
const char* name_of(TransportKind kind);

class TransportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RemoteMemory {
  TransportKind transport = TransportKind::tcp;
  std::vector<std::byte> address;  // the transport's own
  std::uint64_t base = 0;          // remote address of the first byte
  std::uint64_t bytes = 0;
  std::uint64_t key = 0;
};

// Memory of a node. `file` is the one that `bytes` maps from its beginning; -1: there is none, and
// `mapped` is not possible.
struct LocalMemory {
  std::span<std::byte> bytes;
  int file = -1;
};

// Registered memory, readable by those who know the key, until it is destroyed.
class MemoryServer {
 public:
  virtual ~MemoryServer() = default;
  [[nodiscard]] virtual const RemoteMemory& memory() const = 0;
};

// `automatic`: verbs where there is a device for `host`, else mapped for a loopback address, else
// tcp. `host`: IPv4 or IPv6 address of this node that loaders reach. Throws TransportError.
std::unique_ptr<MemoryServer> serve_memory(TransportKind kind, const std::string& host,
                                           const LocalMemory& memory);
// What `automatic` becomes.
TransportKind choose_transport(const std::string& host);

struct Read {
  std::uint64_t offset = 0;     // of the remote memory; header first, data behind it
  std::span<std::byte> header;  // outlives the completion
  std::span<std::byte> data;    // may be empty; registered, where the transport needs that
  std::uint64_t context = 0;    // comes back with the completion
};
struct Completion {
  std::uint64_t context = 0;
  bool good = false;
};

class NodeReader {
 public:
  virtual ~NodeReader() = default;
  // False: as many are in flight as there can be; poll() first. Throws TransportError where the
  // node cannot be read any more.
  virtual bool post(const Read& read) = 0;
  // Up to out.size() completions; 0 where there is none yet. Throws TransportError.
  virtual std::size_t poll(std::span<Completion> out) = 0;
  // A file that becomes readable when poll() has something, asked for right before waiting. -1: do
  // not wait; there is something, or poll() alone tells.
  [[nodiscard]] virtual int wait_file() = 0;
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
  [[nodiscard]] virtual TransportKind kind() const = 0;
};

// A target that a user registered; ends with its destruction.
class RegisteredBuffer {
 public:
  virtual ~RegisteredBuffer() = default;
};

class ReadDomain {
 public:
  virtual ~ReadDomain() = default;
  // Throws TransportError that says which node's address it was.
  virtual std::unique_ptr<NodeReader> connect(const RemoteMemory& memory) = 0;
  // Registers a target with the devices that need it, now and when they are first used.
  virtual std::unique_ptr<RegisteredBuffer> register_buffer(std::span<std::byte> buffer) = 0;
};

// A domain that reads from nodes of every transport this machine has.
std::unique_ptr<ReadDomain> make_read_domain();

}  // namespace tributary::pool
