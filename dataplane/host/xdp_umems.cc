#include "dataplane/host/xdp_umems.h"

#include <dlfcn.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

struct xsk_ring_prod;
struct xsk_ring_cons;
struct xsk_umem_config;

namespace tributary::dataplane {
namespace {

using Create = int (*)(xsk_umem**, void*, std::uint64_t, xsk_ring_prod*, xsk_ring_cons*,
                       const xsk_umem_config*);
using Delete = int (*)(xsk_umem*);
using Descriptor = int (*)(const xsk_umem*);

// libxdp's own function. The driver, a plug-in, has loaded that library.
template <typename Function>
Function of_libxdp(const char* name) {
  void* const library = dlopen("libxdp.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

thread_local XdpUmems* t_collecting = nullptr;

}  // namespace

struct UmemCalls {
  static int create(xsk_umem** umem, void* area, std::uint64_t size, xsk_ring_prod* fill,
                    xsk_ring_cons* completion, const xsk_umem_config* config) {
    const auto call = of_libxdp<Create>("xsk_umem__create");
    if (call == nullptr) return -ENOSYS;
    const int result = call(umem, area, size, fill, completion, config);
    if (result == 0 && t_collecting != nullptr) t_collecting->umems_.push_back(*umem);
    return result;
  }
  static int end(xsk_umem* umem) {
    const auto call = of_libxdp<Delete>("xsk_umem__delete");
    if (call == nullptr) return -ENOSYS;
    if (t_collecting != nullptr) std::erase(t_collecting->umems_, umem);
    return call(umem);
  }
};

XdpUmems::Collecting::Collecting(XdpUmems& into) {
  t_collecting = &into;
}

XdpUmems::Collecting::~Collecting() {
  t_collecting = nullptr;
}

// The descriptor is that of the first socket that uses it.
std::uint64_t XdpUmems::lost() const {
  std::uint64_t all = 0;
  if (umems_.empty()) return all;
  const auto descriptor_of = of_libxdp<Descriptor>("xsk_umem__fd");
  for (const xsk_umem* const umem : umems_) {
    xdp_statistics counted{};
    socklen_t length = sizeof counted;
    if (descriptor_of != nullptr &&
        getsockopt(descriptor_of(umem), SOL_XDP, XDP_STATISTICS, &counted, &length) == 0)
      all += counted.rx_ring_full;
  }
  return all;
}

void XdpUmems::release() {
  while (!umems_.empty()) {
    xsk_umem* const umem = umems_.back();
    umems_.pop_back();
    UmemCalls::end(umem);
  }
}

void intercept_xdp_umems() {}

}  // namespace tributary::dataplane

// NOLINTBEGIN(bugprone-reserved-identifier): libxdp's names
extern "C" int xsk_umem__create(xsk_umem** umem, void* area, std::uint64_t size,
                                xsk_ring_prod* fill, xsk_ring_cons* completion,
                                const xsk_umem_config* config) {
  return tributary::dataplane::UmemCalls::create(umem, area, size, fill, completion, config);
}

extern "C" int xsk_umem__delete(xsk_umem* umem) {
  return tributary::dataplane::UmemCalls::end(umem);
}
// NOLINTEND(bugprone-reserved-identifier)
