#include "tools/agentd/pods/declared_devices.h"

#include <algorithm>
#include <set>

#include "config/text/file.h"
#include "manager/pods/quantity.h"

namespace tributary::agentd {
namespace {

using config::Codec;
using config::Fields;
using config::Node;
using config::Presence;

constexpr std::size_t kMostDevices = 256;
constexpr std::size_t kMostPaths = 64;

struct Row {
  std::string name;
  std::string kind;
  std::uint64_t memory = 0;
  std::optional<std::uint64_t> free;
  double load = 0;
  std::vector<std::string> paths;
  std::vector<std::string> env;
};
struct File {
  std::vector<Row> devices;
};

Codec<std::uint64_t> bytes() {
  return {"amount", "bytes, such as 16Gi",
          [](const Node& node, std::uint64_t& out) -> std::optional<std::string> {
            const auto value = manager::parse_bytes(node.text);
            if (!value) return "is not an amount of bytes";
            out = *value;
            return std::nullopt;
          },
          [](const std::uint64_t& value) { return std::optional(manager::format_bytes(value)); }};
}

Codec<std::string> matching(const std::string& allowed, bool (*is_good)(const std::string&)) {
  return {"text", allowed,
          [is_good](const Node& node, std::string& out) -> std::optional<std::string> {
            if (!is_good(node.text)) return "is not that";
            out = node.text;
            return std::nullopt;
          },
          [](const std::string& value) { return std::optional(config::format_text(value)); }};
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text.front() != '.' && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

bool is_kind(const std::string& text) {
  const std::size_t slash = text.find('/');
  return slash != std::string::npos && is_word(text.substr(0, slash)) &&
         is_word(text.substr(slash + 1));
}

bool is_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  return equals != std::string::npos && equals > 0 && text.size() <= 1024;
}

const Fields<File>& file_fields() {
  static const auto name = matching("1 to 63 of a-z, 0-9, '-' and '.'",
                                    [](const std::string& text) { return is_word(text); });
  static const Fields<Row> row = {
      config::scalar("name", &Row::name, name, "Unique on the node.", Presence::required),
      config::scalar("kind", &Row::kind, matching("vendor/kind", is_kind), "As pods ask for it.",
                     Presence::required),
      config::scalar("memory", &Row::memory, bytes(), "Size of its memory."),
      config::scalar("free", &Row::free, config::or_absent(bytes()), "Default: all of it."),
      config::scalar("load", &Row::load, config::real(0, 1), "Used share."),
      config::scalars("paths", &Row::paths, config::absolute_path(), 0, kMostPaths,
                      "Device nodes."),
      config::scalars("env", &Row::env, matching("NAME=VALUE", is_assignment), 0, kMostPaths,
                      "Variables.")};
  static const Fields<File> fields = {
      config::list("devices", &File::devices, row, 0, kMostDevices, "Devices of this node.")};
  return fields;
}

}  // namespace

std::vector<LocalDevice> parse_declared_devices(std::string_view text, const std::string& file) {
  config::ReadContext context(file);
  File read;
  config::read_mapping(context, "", config::parse_text(text, file), file_fields(), read);
  std::set<std::string> names;
  std::vector<LocalDevice> devices;
  for (std::size_t i = 0; i < read.devices.size(); ++i) {
    const Row& row = read.devices[i];
    const std::string path = config::item_path("devices", i);
    if (!names.insert(row.name).second)
      context.report(path + ".name", "'" + row.name + "' is there twice; allowed: each name once");
    if (row.free.value_or(0) > row.memory)
      context.report(path + ".free", "is more than the device's memory");
    devices.push_back({{.name = row.name,
                        .kind = row.kind,
                        .memory_bytes = row.memory,
                        .free_bytes = row.free.value_or(row.memory),
                        .load = row.load},
                       row.paths,
                       row.env});
  }
  if (!context.errors().empty()) throw config::ConfigErrors(context.errors());
  return devices;
}

std::vector<config::KeyInfo> describe_devices_schema() {
  std::vector<config::KeyInfo> keys;
  config::describe_fields(file_fields(), "", keys);
  return keys;
}

}  // namespace tributary::agentd
