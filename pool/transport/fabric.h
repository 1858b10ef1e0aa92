// libfabric's objects, opened and closed in order, for fabric_server.cc and fabric_reader.cc.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <cstdint>
#include <memory>
#include <string>

#include "pool/transport/transport.h"

namespace tributary::pool {

struct FidClose {
  template <typename Fid>
  void operator()(Fid* fid) const {
    fi_close(&fid->fid);
  }
};
template <typename Fid>
using FidPtr = std::unique_ptr<Fid, FidClose>;

// Throws TransportError: "WHAT: libfabric's text".
void check_fabric(int result, const std::string& what);

// A reliable-datagram endpoint with its queue, ready for use. Members close last to first.
struct FabricEndpoint {
  // `kind`: tcp or shm. `host`: the source address; empty: any. `blocking`: the queue has a file
  // descriptor to wait for.
  FabricEndpoint(TransportKind kind, const std::string& host, bool blocking);

  struct InfoFree {
    void operator()(fi_info* found) const { fi_freeinfo(found); }
  };
  TransportKind kind;
  std::unique_ptr<fi_info, InfoFree> info;
  FidPtr<fid_fabric> fabric;
  FidPtr<fid_domain> domain;
  FidPtr<fid_av> addresses;
  FidPtr<fid_cq> completions;
  FidPtr<fid_ep> endpoint;
};

std::unique_ptr<MemoryServer> serve_by_fabric(TransportKind kind, const std::string& host,
                                              std::span<std::byte> memory);
std::unique_ptr<NodeReader> read_by_fabric(const RemoteMemory& memory);
// Removes a process's regions of the shm provider ("PID:...") from a folder.
void remove_shm_regions(const std::string& folder, int pid);

}  // namespace tributary::pool
