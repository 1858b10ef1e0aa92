#include "core/wire/data_name.h"

#include <charconv>
#include <cstring>

#include "core/utf8.h"

namespace tributary::wire {
namespace {

constexpr const char* kShape =
    "is not of the form /job/<job>/run=<run>/<tensor>/v=<version>/seg=<segment>[/worker=<rank>]";

struct ValueInfoWire {
  be64 digest, bytes;
  be32 segments;
  be64 whole;
  be32 lifetime_ms;
};
static_assert(sizeof(ValueInfoWire) == 32);

const char* check_characters(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return "is not UTF-8";
    const auto first = static_cast<unsigned char>(text[0]);
    if (first <= ' ' || first == 0x7F) return "has a space or a control character";
    text.remove_prefix(length);
  }
  return nullptr;
}

const char* check_parts(std::string_view text) {
  while (!text.empty()) {
    text.remove_prefix(1);  // a slash
    const std::string_view part = text.substr(0, text.find('/'));
    if (part.empty()) return "has an empty part, or ends with '/'";
    if (part == "." || part == "..") return "has a part '.' or '..'";
    text.remove_prefix(part.size());
  }
  return nullptr;
}

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Takes the last part off if it is `key` and a number; false: it is, without a valid number.
template <typename Number>
bool take_last(std::string_view& text, std::string_view key, std::optional<Number>& number) {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos || !text.substr(slash + 1).starts_with(key)) return true;
  Number value = 0;
  if (!read_number(text.substr(slash + 1 + key.size()), value)) return false;
  number = value;
  text = text.substr(0, slash);
  return true;
}

// Takes the first part, without its slash.
std::string_view take_first(std::string_view& text) {
  text.remove_prefix(1);
  const std::string_view part = text.substr(0, text.find('/'));
  text.remove_prefix(part.size());
  return part;
}

const char* read_parts(std::string_view text, DataName& name) {
  if (!text.starts_with("/job/")) return "does not begin with /job/";
  text.remove_prefix(4);
  if (!read_number(take_first(text), name.job)) return "has no job number after /job/";
  if (!take_last(text, "worker=", name.worker)) return "has no rank after worker=";
  if (!take_last(text, "seg=", name.segment)) return "has no number after seg=";
  if (name.segment && *name.segment >= kMaxSegments) return "has a segment beyond 16777215";
  std::optional<std::uint64_t> version;
  if (!take_last(text, "v=", version)) return "has no number after v=";
  if (!version) return kShape;
  name.version = *version;
  if (text.starts_with("/run=")) {
    name.run = take_first(text).substr(4);
    if (name.run.empty()) return "has nothing after run=";
  }
  if (text.empty() || text.starts_with("/run=")) return kShape;
  name.tensor = text.substr(1);
  return nullptr;
}

}  // namespace

const char* parse_name(std::string_view text, DataName& name) {
  name = {};
  if (text.size() > kMaxNameBytes) return "is longer than 160 bytes";
  if (!text.starts_with('/')) return "does not begin with /job/";
  if (const char* const wrong = check_characters(text)) return wrong;
  if (const char* const wrong = check_parts(text)) return wrong;
  return read_parts(text, name);
}

const char* parse_wire_name(std::string_view text, DataName& name) {
  if (const char* const wrong = parse_name(text, name)) return wrong;
  if (name.run.empty()) return "has no run=";
  return name.segment ? nullptr : "has no seg=";
}

std::string_view write_name(const DataName& name, NameBuffer& buffer) {
  std::size_t used = 0;
  bool fits = true;
  const auto put = [&](std::string_view text) {
    fits = fits && text.size() <= buffer.size() - used;
    if (!fits) return;
    std::memcpy(buffer.data() + used, text.data(), text.size());
    used += text.size();
  };
  const auto put_number = [&](std::string_view key, std::uint64_t number) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    put(key);
    put({digits.data(), static_cast<std::size_t>(end - digits.data())});
  };
  put_number("/job/", name.job);
  if (!name.run.empty()) put("/run="), put(name.run);
  put("/"), put(name.tensor);
  put_number("/v=", name.version);
  if (name.segment) put_number("/seg=", *name.segment);
  if (name.worker) put_number("/worker=", *name.worker);
  return fits ? std::string_view(buffer.data(), used) : std::string_view();
}

bool add_name(ExtensionWriter& extensions, std::string_view name) {
  return extensions.add_raw(static_cast<std::uint8_t>(ExtensionType::name) | kCriticalBit,
                            static_cast<std::uint16_t>(name.size()),
                            std::as_bytes(std::span(name.data(), name.size())));
}

bool add_value_info(ExtensionWriter& extensions, const ValueInfo& info) {
  ValueInfoWire w{};
  w.digest = info.digest;
  w.bytes = info.bytes;
  w.segments = info.segments;
  w.whole = info.whole;
  w.lifetime_ms = info.lifetime_ms;
  return extensions.add_raw(static_cast<std::uint8_t>(ExtensionType::value_info) | kCriticalBit, 0,
                            std::as_bytes(std::span(&w, 1)));
}

std::optional<std::string_view> find_name(std::span<const std::byte> area) {
  const auto found = find_extension(area, ExtensionType::name);
  if (!found || found->inline_value > found->data.size()) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(found->data.data()), found->inline_value);
}

std::optional<ValueInfo> find_value_info(std::span<const std::byte> area) {
  const auto found = find_extension(area, ExtensionType::value_info);
  if (!found || found->data.size() < sizeof(ValueInfoWire)) return std::nullopt;
  ValueInfoWire w;
  std::memcpy(&w, found->data.data(), sizeof w);
  return ValueInfo{w.digest, w.bytes, w.segments, w.whole, w.lifetime_ms};
}

}  // namespace tributary::wire
