// Reads of a node's memory by a loader, over any transport (L2).
//
//   node:    serve_memory()  ──▶ MemoryServer ──admit()──▶ ReadPermit, one for each reader
//                                   its RemoteMemory goes to the reader by the control connection
//   loader:  ReadDomain ──connect(RemoteMemory)──▶ NodeReader ──post()/poll()──▶ completions
//
//   verbs         RC READ by rdmacm: the node's CPU takes no part
//   mapped        on one machine: the loader maps the node's memory file, read-only, and copies;
//                 the node's CPU takes no part
//   tcp           libfabric's tcp;ofi_rxm: a thread of the node serves the reads
//   shm           libfabric's shm: between processes of one machine; a thread of the node polls.
//                 The kernel's right to read another process's memory guards it, not the key
//
// One thread uses a NodeReader; any thread may call its domain, also beside the reader. Closing a
// NodeReader ends all reads in flight: no byte arrives in a target after that.
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

// Memory of a node. `file` is the file that `bytes` maps from its beginning; -1: there is none, and
// `mapped` is not possible. `tenants`: names of those whose readers may be admitted.
struct LocalMemory {
  std::span<std::byte> bytes;
  int file = -1;
  std::vector<std::string> tenants = {""};
};

// One reader's right to read a node's memory. With its end, verbs and libfabric's transports let
// the reader read no more; a mapping stays until the reader drops it.
class ReadPermit {
 public:
  virtual ~ReadPermit() = default;
  [[nodiscard]] virtual const RemoteMemory& memory() const = 0;
};

// Registered memory, readable for those who are admitted, until it is destroyed: after its permits.
class MemoryServer {
 public:
  virtual ~MemoryServer() = default;
  [[nodiscard]] virtual TransportKind kind() const = 0;
  // A reader of the tenant. Any thread. Throws TransportError.
  virtual std::unique_ptr<ReadPermit> admit(const std::string& tenant) = 0;
};

// `automatic`: verbs if there is a device for `host`, else mapped for a loopback address, else tcp.
// `host`: IPv4 or IPv6 address of this node that loaders reach. Throws TransportError.
std::unique_ptr<MemoryServer> serve_memory(TransportKind kind, const std::string& host,
                                           const LocalMemory& memory);
// The transport that `automatic` selects.
TransportKind choose_transport(const std::string& host);

struct Read {
  std::uint64_t offset = 0;     // in the remote memory; header first, data behind it
  std::span<std::byte> header;  // outlives the completion
  std::span<std::byte> data;    // may be empty; registered, if the transport needs that
  std::uint64_t context = 0;    // returned with the completion
};
struct Completion {
  std::uint64_t context = 0;
  bool good = false;
};

class NodeReader {
 public:
  virtual ~NodeReader() = default;
  // Returns false if the maximum is in flight; then call poll(). Throws TransportError if the node
  // cannot be read any more.
  virtual bool post(const Read& read) = 0;
  // Returns up to out.size() completions; 0 if there is none yet. Throws TransportError.
  virtual std::size_t poll(std::span<Completion> out) = 0;
  // A file descriptor that becomes readable when poll() has a result; ask for it right before
  // waiting. -1: do not wait; there is a result, or only poll() can tell.
  [[nodiscard]] virtual int wait_file() = 0;
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
  [[nodiscard]] virtual TransportKind kind() const = 0;
  // Whether Read::data may be this device memory: it is registered, and no CPU touches it.
  [[nodiscard]] virtual bool reaches(std::span<const std::byte>) const { return false; }
};

// A target that a user registered; destruction ends the registration.
class RegisteredBuffer {
 public:
  virtual ~RegisteredBuffer() = default;
};

// Memory of a device such as a GPU, at its driver's address. `dmabuf`: a file of memory in which it
// begins at `offset`; -1: there is none.
struct DeviceBuffer {
  std::span<std::byte> bytes;
  int dmabuf = -1;
  std::uint64_t offset = 0;
};

class ReadDomain {
 public:
  virtual ~ReadDomain() = default;
  // Throws TransportError that names the node's address.
  virtual std::unique_ptr<NodeReader> connect(const RemoteMemory& memory) = 0;
  // Registers a target with the devices that need it, now or when they are first used.
  virtual std::unique_ptr<RegisteredBuffer> register_buffer(std::span<std::byte> buffer) = 0;
  // The same for a device's memory, if RDMA devices support it: NodeReader::reaches() tells.
  virtual std::unique_ptr<RegisteredBuffer> register_device(const DeviceBuffer& memory) = 0;
};

// A domain that reads from nodes over every transport that this machine has.
std::unique_ptr<ReadDomain> make_read_domain();

}  // namespace tributary::pool
