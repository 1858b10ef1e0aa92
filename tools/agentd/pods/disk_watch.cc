#include "tools/agentd/pods/disk_watch.h"

#include <fts.h>
#include <sys/stat.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>

#include "manager/pods/quantity.h"

namespace tributary::agentd {
namespace {

constexpr std::uint64_t kBlock = 512;  // of st_blocks

struct Close {
  void operator()(FTS* walk) const { ::fts_close(walk); }
};

std::uint64_t limit_of(const manager::Container& container, std::uint64_t usual) {
  const auto at = container.resources.limits.find(manager::kDiskResource);
  if (at == container.resources.limits.end()) return usual;
  return manager::parse_bytes(at->second).value_or(usual);
}

// Undoes the kernel's "\040" for a space and other characters (seq_escape(), fs/seq_file.c).
std::string unescaped(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* const first = text.data() + i + 1;
    const bool escapes = text[i] == '\\' && i + kDigits < text.size() &&
                         std::from_chars(first, first + kDigits, code, 8).ptr == first + kDigits &&
                         code <= UINT8_MAX;
    plain += escapes ? static_cast<char>(code) : text[i];
    if (escapes) i += kDigits;
  }
  return plain;
}

}  // namespace

// 36 35 98:0 / / rw - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c
std::optional<std::string> upper_layer(std::string_view mountinfo) {
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::array<std::string, 5> head;
    for (std::string& word : head) words >> word;
    const std::size_t tail = line.find(" - overlay ");
    if (head[4] != "/" || tail == std::string::npos) continue;
    constexpr std::string_view kKey = "upperdir=";
    const std::size_t key = line.find(kKey, tail);
    if (key == std::string::npos) return std::nullopt;
    const std::size_t begin = key + kKey.size();
    std::string folder = unescaped(line.substr(begin, line.find(',', begin) - begin));
    if (!folder.starts_with('/')) return std::nullopt;  // from a folder that is not told
    return folder;
  }
  return std::nullopt;
}

DiskUse disk_use_below(const std::string& folder, const DiskUse& most) {
  std::string path = folder;
  std::array<char*, 2> roots = {path.data(), nullptr};
  const std::unique_ptr<FTS, Close> walk(
      ::fts_open(roots.data(), FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, nullptr));
  DiskUse use;
  while (walk && use.bytes <= most.bytes && use.files <= most.files) {
    const FTSENT* const entry = ::fts_read(walk.get());
    if (entry == nullptr) break;
    const bool has_size = entry->fts_info != FTS_DP && entry->fts_info != FTS_NS &&
                          entry->fts_info != FTS_DNR && entry->fts_info != FTS_ERR;
    if (!has_size) continue;
    ++use.files;
    use.bytes += static_cast<std::uint64_t>(entry->fts_statp->st_blocks) * kBlock;
  }
  return use;
}

std::optional<DiskUse> disk_use_of(int pid, const DiskUse& most, const std::string& proc) {
  std::ifstream file(proc + "/" + std::to_string(pid) + "/mountinfo");
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return std::nullopt;
  const auto folder = upper_layer(text.str());
  if (!folder) return std::nullopt;
  return disk_use_below(*folder, most);
}

std::string DiskWatch::why_ended(const manager::Container& container, int pid) const {
  const std::uint64_t limit = limit_of(container, usual_);
  const auto use = use_(pid, {limit, kMostFiles});
  if (!use) return "";
  const std::string wrote = "container " + container.name + " has written ";
  if (use->bytes > limit)
    return wrote + "more than its ephemeral-storage, " + manager::format_bytes(limit);
  if (use->files > kMostFiles) return wrote + "more than " + std::to_string(kMostFiles) + " files";
  return "";
}

std::map<std::string, std::string> DiskWatch::look(const Work& work,
                                                   const Reconciler::Result& result, Instant now) {
  std::map<std::string, std::string> beyond;
  if (looked_ && now - *looked_ < kPause) return beyond;
  looked_ = now;
  std::map<std::pair<std::string, std::string>, int> pids;
  for (const RuntimeContainer& one : result.containers)
    if (one.pid > 0) pids[{one.instance, one.container}] = one.pid;
  for (const WantedPod& wanted : work.pods)
    for (const manager::Container& container : wanted.pod.spec.containers) {
      const auto at = pids.find({wanted.instance, container.name});
      if (at == pids.end()) continue;
      const std::string why = why_ended(container, at->second);
      if (!why.empty()) beyond[wanted.instance] = why;
    }
  return beyond;
}

}  // namespace tributary::agentd
