#include "tools/daemon/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "control/text/utc_text.h"

namespace tributary::tools {
namespace {

LogOptions options_now;

// systemd names the stream's device and inode (systemd.exec(5), $JOURNAL_STREAM).
bool is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");  // NOLINT(concurrency-mt-unsafe)
  struct stat status {};
  if (stream == nullptr || fstat(STDERR_FILENO, &status) != 0) return false;
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) == stream;
}

std::string escaped(const std::string& line) {
  std::string text;
  for (const char c : line) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

std::string log_line(LogFormat format, bool for_journal, LogLevel level, const std::string& line,
                     std::int64_t time_ms) {
  std::string plain = line;
  for (char& c : plain)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  if (format == LogFormat::json)
    return "{\"time\":\"" + control::utc_text(time_ms) + "\",\"level\":\"" + name_of(level) +
           "\",\"text\":\"" + escaped(plain) + "\"}";
  if (!for_journal) return plain;
  std::string marked(1, '<');
  return marked.append(std::to_string(static_cast<int>(level))).append(">").append(plain);
}

void set_log(const LogOptions& options) {
  options_now = options;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void write_log(LogLevel level, const std::string& text) {
  static const bool journal = is_journal();
  if (level > options_now.least) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto time_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  std::string all;
  for (const std::string& line : lines_of(text))
    all += log_line(options_now.format, journal, level, (all.empty() ? "" : "  ") + line, time_ms) +
           '\n';
  // One call a text: those of several threads don't mix.
  std::fputs(all.c_str(), stderr);
}

}  // namespace tributary::tools
