#include "dataplane/host/run_directory.h"

#include <rte_eal.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "dataplane/host/stale_socket.h"

namespace tributary::dataplane {
namespace {

constexpr std::string_view kPrefix = "tributary-";

// True when the name is a run directory's and its process is gone.
bool abandoned(const std::string& name) {
  if (name.rfind(kPrefix, 0) != 0) return false;
  int pid = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, pid);
  if (parsed.ec != std::errc{} || parsed.ptr != end || pid <= 0) return false;
  return kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string run_directory_name(int pid) {
  return std::string(kPrefix).append(std::to_string(pid));
}

std::filesystem::path run_directory_parent() {
  const auto from = [](const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before threads
    return std::string(value != nullptr ? value : otherwise);
  };
  if (const std::string own = from("RUNTIME_DIRECTORY", ""); !own.empty()) return own;
  return getuid() == 0 ? "/var/run" : from("XDG_RUNTIME_DIR", "/tmp");
}

void check_run_directory(const std::filesystem::path& parent) {
  const std::filesystem::path place = parent / "dpdk";
  std::string probe = place / ".probe-XXXXXX";
  std::error_code error;
  std::filesystem::create_directory(place, error);
  if (!error && mkdtemp(probe.data()) == nullptr) error = {errno, std::generic_category()};
  if (error)
    throw std::runtime_error("DPDK cannot make its run directory in " + place.string() + ": " +
                             error.message() +
                             "; set RUNTIME_DIRECTORY to a directory that may be written");
  std::filesystem::remove(probe, error);
}

void remove_run_directory() {
  std::error_code ignored;
  std::filesystem::remove(rte_eal_get_runtime_dir(), ignored);
}

void remove_stale_run_directories(const std::filesystem::path& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(parent, error), end; !error && it != end;
       it.increment(error)) {
    if (!abandoned(it->path().filename().string())) continue;
    // A process of another PID namespace may share this parent: its socket is answered, stays,
    // and keeps its directory.
    remove_stale_socket(it->path() / "dpdk_telemetry.v2");
    std::error_code not_empty;
    std::filesystem::remove(it->path(), not_empty);
  }
}

}  // namespace tributary::dataplane
