#include "tools/client/control/task_reports.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace tributary::client {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 4096;
constexpr off_t kMostBytes = 1 << 20;
constexpr int kVersion = 1;
// Keys of a row of a member, as the file has them.
constexpr std::array kColumns = {"job",   "rank",      "role",     "sums",   "task",
                                 "state", "bytes",     "of_bytes", "round",  "most_rounds",
                                 "norm",  "criterion", "retries",  "missing"};

struct File {
  int fd = -1;
  explicit File(const fs::path& path)
      // A FIFO without a writer must not block, and a link may lead anywhere.
      : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

[[noreturn]] void fail_with_errno() {
  throw std::runtime_error(std::generic_category().message(errno));
}

std::string read_file(const fs::path& path) {
  const File file(path);
  struct stat info {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0) fail_with_errno();
  if (!S_ISREG(info.st_mode)) throw std::runtime_error("is no regular file");
  if (info.st_size > kMostBytes) throw std::runtime_error("has more than 1 MiB");
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t got = read(file.fd, text.data() + at, text.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno();
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  text.resize(at);
  return text;
}

Json parse_report(const std::string& text) {
  Json report = Json::parse(text, nullptr, false);
  if (!report.is_object() || report.value("tributary_task_status", Json()) != Json(kVersion))
    throw std::runtime_error("is no report of this version");
  const auto updated = report.find("updated");
  const auto line = report.find("line");
  bool good =
      updated != report.end() && updated->is_number() && line != report.end() && line->is_array();
  for (const char* const key : kColumns)
    good = good && report.contains(key) && report[key].is_primitive();
  for (std::size_t i = 0; good && i < line->size(); ++i) {
    const Json& event = (*line)[i];
    good = event.is_object() && event.contains("at") && event["at"].is_number() &&
           event.contains("what") && event["what"].is_string();
  }
  if (!good) throw std::runtime_error("is damaged");
  return report;
}

std::vector<fs::path> files_of(const std::string& folder, std::vector<std::string>& notes) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.') || it->path().extension() != ".json") continue;
    if (found.size() == kMostFiles) {
      notes.push_back(folder + ": more than 4096 reports; the others are left out");
      break;
    }
    found.push_back(it->path());
  }
  if (error) throw std::runtime_error(folder + ": " + error.message());
  std::sort(found.begin(), found.end());
  return found;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string utc_of(double seconds) {
  const auto whole = static_cast<std::time_t>(std::clamp(seconds, 0.0, 2.5e11));
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

Json row_of(const Json& report) {
  Json row;
  for (const char* const key : kColumns) row[key] = report[key];
  const double age = static_cast<double>(std::time(nullptr)) - report["updated"].get<double>();
  row["age_s"] = static_cast<std::int64_t>(std::clamp(age, 0.0, 1e15));
  return row;
}

void add_line(const Json& report, std::vector<Json>& events) {
  for (const Json& event : report["line"])
    events.push_back(Json{{"at", event["at"]},
                          {"rank", report["rank"]},
                          {"role", report["role"]},
                          {"times", event.value("times", Json(1))},
                          {"what", event["what"]}});
}

Json line_of(std::vector<Json>& events) {
  std::stable_sort(events.begin(), events.end(), [](const Json& a, const Json& b) {
    return a["at"].get<double>() < b["at"].get<double>();
  });
  Json rows = Json::array();
  for (Json& event : events) {
    Json row{{"time", utc_of(event["at"].get<double>())}};
    for (const char* const key : {"rank", "role", "times", "what"}) row[key] = event[key];
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Reply read_task_reports(const std::string& folder, const std::string& job) {
  Reply reply{Json::array(), {}};
  std::vector<Json> events;
  for (const fs::path& path : files_of(folder, reply.notes)) {
    try {
      const Json report = parse_report(read_file(path));
      if (job.empty())
        reply.data.push_back(row_of(report));
      else if (text_of(report["job"]) == job)
        add_line(report, events);
    } catch (const std::runtime_error& error) {
      reply.notes.push_back(path.string() + ": " + error.what());
    }
  }
  if (!job.empty()) reply.data = line_of(events);
  return reply;
}

}  // namespace tributary::client
