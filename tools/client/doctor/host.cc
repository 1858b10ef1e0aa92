#include "tools/client/doctor/host.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tributary::client {
namespace {

constexpr std::uint64_t kGoodBufferBytes = 4u << 20;

// The word behind `key` in a file of lines "Key: value".
std::string value_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream words(line.substr(key.size()));
    std::string value;
    words >> value;
    return value;
  }
  return "";
}

std::uint64_t number(const std::string& text, int base) {
  return std::strtoull(text.c_str(), nullptr, base);
}

}  // namespace

HostFacts look_at_host(const std::string& root) {
  HostFacts facts;
  const std::uint64_t capabilities = number(value_of(root + "proc/self/status", "CapEff:"), 16);
  facts.net_raw = (capabilities >> CAP_NET_RAW & 1) != 0;
  facts.net_admin = (capabilities >> CAP_NET_ADMIN & 1) != 0;
  facts.receive_buffer_bytes = number(value_of(root + "proc/sys/net/core/rmem_max", ""), 10);
  facts.huge_pages = number(value_of(root + "proc/meminfo", "HugePages_Free:"), 10);
  return facts;
}

Findings judge(const HostFacts& host, bool for_switch) {
  using enum Finding::Level;
  Findings found;
  if (!host.net_admin && host.receive_buffer_bytes < kGoodBufferBytes)
    found.push_back({warning, "socket buffers",
                     "limited to " + std::to_string(host.receive_buffer_bytes) +
                         " bytes, so that bursts of results are lost and asked for again",
                     "sysctl -w net.core.rmem_max=8388608 net.core.wmem_max=8388608, or grant "
                     "CAP_NET_ADMIN"});
  else
    found.push_back({ok, "socket buffers", "as large as a job wants them", ""});
  if (!for_switch) return found;
  if (!host.net_raw || !host.net_admin)
    found.push_back({warning, "privileges",
                     std::string("a switch started here lacks ") +
                         (host.net_raw ? "CAP_NET_ADMIN" : "CAP_NET_RAW") +
                         ": no ports on kernel interfaces",
                     "run it as root or by its systemd unit; memif ports need neither"});
  found.push_back(host.huge_pages > 0
                      ? Finding{ok, "huge pages", std::to_string(host.huge_pages) + " are free", ""}
                      : Finding{ok, "huge pages",
                                "none are free; a switch with memory.hugepages does not start here",
                                ""});
  return found;
}

Findings judge_memif_socket(const std::string& path) {
  using enum Finding::Level;
  const std::string subject = "memif socket " + path;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return {{error, subject, std::strerror(errno),
             "start the switch first; its port's devargs name the socket (socket=PATH)"}};
  if (!S_ISSOCK(status.st_mode))
    return {{error, subject, "is not a socket", "compare with socket=PATH in the port's devargs"}};
  if (::access(path.c_str(), R_OK | W_OK) != 0)
    return {{error, subject, "this user may not use it",
             "run the worker as the switch's user or group, or as root"}};
  return {{ok, subject, "is there", ""}};
}

}  // namespace tributary::client
