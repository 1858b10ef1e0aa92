#include "pool/loader/loader_metrics.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tributary::pool {
namespace {

// More processes than load on one machine; the ones beyond have no file.
constexpr unsigned kMostNumbers = 4096;

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(ns) * 1e-9);
  return text;
}

class Writer {
 public:
  explicit Writer(const std::string& labels) : labels_(labels) {}

  void family(const std::string& name, const char* type, const char* help) {
    name_ = "tributary_pool_loader_" + name;
    text_ += "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n";
  }
  void value(const std::string& value, const std::string& more = "", const char* ending = "") {
    text_ +=
        name_ + ending + "{" + labels_ + (more.empty() ? "" : "," + more) + "} " + value + "\n";
  }
  void counter(const std::string& name, const char* help, std::uint64_t count) {
    family(name, "counter", help);
    value(std::to_string(count));
  }
  // One series for each source.
  void by_source(const std::string& name, const char* help, std::uint64_t pool,
                 std::uint64_t store) {
    family(name, "counter", help);
    value(std::to_string(pool), "source=\"pool\"");
    value(std::to_string(store), "source=\"store\"");
  }
  std::string take() { return std::move(text_); }

 private:
  const std::string& labels_;
  std::string name_;
  std::string text_;
};

bool write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

LoaderMetrics::LoaderMetrics(std::string pool, std::string folder)
    : pool_(std::move(pool)), folder_(std::move(folder)) {}

LoaderMetrics::~LoaderMetrics() {
  if (lock_ >= 0) close(lock_);
}

void LoaderMetrics::check_folder(const std::string& folder) {
  struct stat status {};
  int error = stat(folder.c_str(), &status) == 0 ? 0 : errno;
  if (error == 0 && !S_ISDIR(status.st_mode)) error = ENOTDIR;
  if (error == 0 && access(folder.c_str(), W_OK | X_OK) != 0) error = errno;
  if (error != 0)
    throw std::runtime_error("pool.load.metrics_folder " + folder +
                             ": cannot be written: " + std::generic_category().message(error));
}

std::string LoaderMetrics::text(const LoadCounters& counters) const {
  return text(counters, "pool=\"" + pool_ + "\"");
}

// The pool's name is an identifier: it needs no escapes.
std::string LoaderMetrics::text(const LoadCounters& c, const std::string& labels) const {
  Writer out(labels);
  out.by_source("records_total", "Records that were loaded, by source", c.hits, c.misses);
  out.by_source("bytes_total", "Bytes of those records, by source", c.pool_bytes, c.store_bytes);
  out.counter("stale_total", "Entries of the record table that were out of date", c.stale);
  out.counter("corrupt_total", "Records of the pool whose CRC was wrong", c.corrupt);
  out.counter("node_failures_total", "Nodes that died or could not be reached, each time",
              c.node_failures);
  out.family("batch_seconds", "histogram", "Time from a batch's request to its last record");
  std::uint64_t below = 0;
  for (std::size_t b = 0; b < BatchTimes::kBuckets; ++b) {
    below += batch_times_.in(b);
    const bool last = b + 1 == BatchTimes::kBuckets;
    out.value(std::to_string(below),
              "le=\"" + (last ? "+Inf" : seconds(BatchTimes::bound(b))) + "\"", "_bucket");
  }
  out.value(seconds(c.batch_ns), "", "_sum");
  out.value(std::to_string(below), "", "_count");
  return out.take();
}

std::string LoaderMetrics::path(const char* prefix, const char* ending) const {
  return folder_ + "/" + prefix + "tributary-pool-" + pool_ + "-" + std::to_string(number_) +
         ending;
}

bool LoaderMetrics::take_number() {
  for (number_ = 0; number_ < kMostNumbers; ++number_) {
    const int fd = open(path(".", ".lock").c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                        S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
    if (fd < 0) return false;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
      lock_ = fd;
      return true;
    }
    close(fd);
  }
  return false;
}

void LoaderMetrics::write(const LoadCounters& counters) noexcept {
  try {
    if (!folder_.empty() && (lock_ >= 0 || take_number())) replace_file(counters);
  } catch (const std::bad_alloc&) {  // next time
  }
}

void LoaderMetrics::replace_file(const LoadCounters& counters) {
  const std::string fresh = path(".", ".new");
  // node_exporter runs as another user, whatever the umask of a training process.
  constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (fd < 0) return;
  const std::string labels = "pool=\"" + pool_ + "\",process=\"" + std::to_string(number_) + "\"";
  const bool good = write_all(fd, text(counters, labels)) && fchmod(fd, kMode) == 0;
  close(fd);
  if (!good || std::rename(fresh.c_str(), path("", ".prom").c_str()) != 0) unlink(fresh.c_str());
}

void LoaderMetrics::write_if_due(const LoadCounters& counters, Clock::time_point now) noexcept {
  if (folder_.empty() || now < next_write_) return;
  next_write_ = now + kInterval;
  write(counters);
}

}  // namespace tributary::pool
