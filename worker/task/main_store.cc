#include "worker/task/main_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "worker/task/records.h"
#include "worker/task/task_error.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::task {
namespace {

using nlohmann::json;

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> data;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at)
    data.push_back(static_cast<std::byte>(*at));
  return data;
}

// An empty object if there is no file.
json read_json(const std::filesystem::path& folder, const char* name) {
  const auto path = folder / name;
  if (folder.empty() || !std::filesystem::exists(path)) return json::object();
  const auto data = read_file(path);
  const auto* const text = reinterpret_cast<const char*>(data.data());
  auto found = json::parse(text, text + data.size(), nullptr, false);
  if (!found.is_object()) throw TaskError(path.string() + ": damaged");
  return found;
}

[[noreturn]] void throw_errno(const std::filesystem::path& path) {
  throw TaskError(path.string() + ": " + std::generic_category().message(errno));
}

void write_all(int file, std::span<const std::byte> data, const std::filesystem::path& path) {
  while (!data.empty()) {
    const ssize_t written = ::write(file, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_errno(path);
    data = data.subspan(static_cast<std::size_t>(written));
  }
  if (::fsync(file) != 0) throw_errno(path);
}

}  // namespace

MainStore::MainStore(std::filesystem::path folder) : folder_(std::move(folder)) {
  if (!folder_.empty()) std::filesystem::create_directories(folder_);
  const json found = read_json(folder_, "task.json");
  if (const auto task = found.find("task"); task != found.end() && task->is_string())
    task_ = task->get<std::string>();
  if (const auto run = found.find("run"); run != found.end() && run->is_string())
    run_ = run->get<std::string>();
}

bool MainStore::expect(const std::string& task) const {
  if (!task_.empty() && task_ != task)
    throw TaskError(folder_.string() + " is of task " + short_name(task_) + ", and this is " +
                    short_name(task) +
                    ": other data, metadata or criterion; allowed: the same, or another folder");
  return task_ == task;
}

void MainStore::distributed(const std::string& task, const std::string& run) {
  write("task.json", json{{"task", task}, {"run", run}}.dump());
  task_ = task;
  run_ = run;
}

void MainStore::keep(const std::string& task, const Blobs& blobs) {
  std::vector<std::byte> all;
  std::vector<std::size_t> sizes;
  for (const auto& blob : blobs) {
    all.insert(all.end(), blob.begin(), blob.end());
    sizes.push_back(blob.size());
  }
  write("result.bin", all);
  write("result.json", json{{"task", task}, {"sizes", sizes}}.dump());
}

Blobs MainStore::kept() const {
  const json found = read_json(folder_, "result.json");
  Blobs blobs;
  if (!found.contains("sizes")) return blobs;
  const auto data = read_file(folder_ / "result.bin");
  try {
    std::size_t at = 0;
    for (const auto size : found.at("sizes").get<std::vector<std::size_t>>()) {
      if (size > data.size() - at)
        throw TaskError((folder_ / "result.bin").string() + ": too short");
      const auto begin = data.begin() + static_cast<std::ptrdiff_t>(at);
      blobs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
      at += size;
    }
  } catch (const json::exception&) {
    throw TaskError((folder_ / "result.json").string() + ": damaged");
  }
  return blobs;
}

// The file appears whole or not at all.
void MainStore::write(const char* name, std::span<const std::byte> data) const {
  if (folder_.empty()) return;
  const auto path = folder_ / name;
  const std::string fresh = path.string() + ".new";
  const worker::FileDescriptor file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) throw_errno(fresh);
  write_all(file.get(), data, fresh);
  if (std::rename(fresh.c_str(), path.c_str()) != 0) throw_errno(path);
}

void MainStore::write(const char* name, const std::string& text) const {
  write(name, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace tributary::task
