// DPDK 22.11 does not yet call rte_intr_* of instances stable.
#define ALLOW_EXPERIMENTAL_API
#include "dataplane/port/memif_listeners.h"

#include <dlfcn.h>
#include <rte_interrupts.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>

namespace tributary::dataplane {
namespace {

using Register = int (*)(const rte_intr_handle*, rte_intr_callback_fn, void*);

Register next_register() {
  static const auto next =
      reinterpret_cast<Register>(dlsym(RTLD_NEXT, "rte_intr_callback_register"));
  return next;
}

// Of one path.
struct Listener {
  std::size_t ports = 0;
  int socket = -1;
  rte_intr_callback_fn handler = nullptr;
};
std::mutex g_guard;  // of:
std::map<std::string, Listener> g_listeners;

bool listens(int socket) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value != 0;
}

void unwatch(const Listener& listener) {
  rte_intr_handle* const handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
  if (handle == nullptr) return;
  if (rte_intr_fd_set(handle, listener.socket) == 0 &&
      rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0 &&
      rte_intr_callback_unregister(handle, listener.handler, reinterpret_cast<void*>(-1)) > 0)
    ::close(listener.socket);
  rte_intr_instance_free(handle);
}

}  // namespace

std::string unix_path_of(int socket) {
  sockaddr_un address{};
  socklen_t length = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      address.sun_family != AF_UNIX || length <= offsetof(sockaddr_un, sun_path))
    return {};
  const char* const text = address.sun_path + (address.sun_path[0] == '\0' ? 1 : 0);
  return {text, strnlen(text, sizeof address.sun_path - 1)};
}

void hold_memif_listener(const std::string& path) {
  const std::lock_guard lock(g_guard);
  ++g_listeners[path].ports;
}

void release_memif_listener(const std::string& path) {
  const std::lock_guard lock(g_guard);
  const auto found = g_listeners.find(path);
  if (found == g_listeners.end() || --found->second.ports != 0) return;
  if (found->second.handler != nullptr) unwatch(found->second);
  g_listeners.erase(found);
}

void remember_memif_listeners() {
  next_register();
}

}  // namespace tributary::dataplane

extern "C" int rte_intr_callback_register(const rte_intr_handle* handle,
                                          rte_intr_callback_fn callback, void* argument) {
  using namespace tributary::dataplane;
  const int result = next_register()(handle, callback, argument);
  const int socket = result == 0 ? rte_intr_fd_get(handle) : -1;
  if (socket < 0 || !listens(socket)) return result;
  const std::string path = unix_path_of(socket);
  const std::lock_guard lock(g_guard);
  const auto found = g_listeners.find(path);
  if (found == g_listeners.end()) return result;  // not a port's
  found->second.socket = socket;
  found->second.handler = callback;
  return result;
}
