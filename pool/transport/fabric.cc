#include "pool/transport/fabric.h"

#include <rdma/fi_errno.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>

namespace tributary::pool {
namespace {

constexpr std::uint32_t kVersion = FI_VERSION(1, 17);
constexpr std::size_t kQueueEntries = 4096;

fi_info* find(TransportKind kind, const std::string& host, int& result) {
  FabricEndpoint::InfoFree free_info;
  const std::unique_ptr<fi_info, FabricEndpoint::InfoFree> hints(fi_allocinfo());
  if (!hints) throw std::bad_alloc();
  static_cast<void>(free_info);
  hints->caps = FI_MSG | FI_RMA | FI_READ | FI_REMOTE_READ;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->fabric_attr->prov_name = strdup(kind == TransportKind::shm ? "shm" : "tcp;ofi_rxm");
  fi_info* info = nullptr;
  const char* const node = kind == TransportKind::tcp && !host.empty() ? host.c_str() : nullptr;
  result = fi_getinfo(kVersion, node, nullptr, node != nullptr ? FI_SOURCE : 0, hints.get(), &info);
  return info;
}

// The provider names its memory by the process id. Memory with this id before its first endpoint is
// a killed process's, and would make the endpoint "busy".
void remove_what_a_killed_process_left() {
  static std::atomic<pid_t> done{0};
  const pid_t own = ::getpid();
  if (done.exchange(own) != own) remove_shm_regions("/dev/shm", own);
}

}  // namespace

void remove_shm_regions(const std::string& folder, int pid) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(std::to_string(pid) + ":"))
      std::filesystem::remove(entry.path(), ignored);
}

void check_fabric(int result, const std::string& what) {
  if (result < 0) throw TransportError(what + ": " + fi_strerror(-result));
}

FabricEndpoint::FabricEndpoint(TransportKind wanted, const std::string& host, bool blocking)
    : kind(wanted) {
  if (kind == TransportKind::shm) remove_what_a_killed_process_left();
  int result = 0;
  info.reset(find(kind, host, result));
  const std::string name = name_of(kind);
  check_fabric(result, name + " of libfabric at '" + host + "'");
  fid_fabric* made_fabric = nullptr;
  check_fabric(fi_fabric(info->fabric_attr, &made_fabric, nullptr), name + ": fabric");
  fabric.reset(made_fabric);
  fid_domain* made_domain = nullptr;
  check_fabric(fi_domain(fabric.get(), info.get(), &made_domain, nullptr), name + ": domain");
  domain.reset(made_domain);
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  fid_av* made_av = nullptr;
  check_fabric(fi_av_open(domain.get(), &av, &made_av, nullptr), name + ": addresses");
  addresses.reset(made_av);
  fi_cq_attr cq{};
  cq.size = kQueueEntries;
  cq.format = FI_CQ_FORMAT_CONTEXT;
  cq.wait_obj = blocking ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* made_cq = nullptr;
  check_fabric(fi_cq_open(domain.get(), &cq, &made_cq, nullptr), name + ": completions");
  completions.reset(made_cq);
  fid_ep* made_ep = nullptr;
  check_fabric(fi_endpoint(domain.get(), info.get(), &made_ep, nullptr), name + ": endpoint");
  endpoint.reset(made_ep);
  check_fabric(fi_ep_bind(made_ep, &made_av->fid, 0), name + ": addresses of the endpoint");
  check_fabric(fi_ep_bind(made_ep, &made_cq->fid, FI_TRANSMIT | FI_RECV),
               name + ": completions of the endpoint");
  check_fabric(fi_enable(made_ep), name + ": endpoint");
}

}  // namespace tributary::pool
