#include "dataplane/memif/memif_settings.h"

#include <charconv>
#include <limits>
#include <optional>
#include <stdexcept>

namespace tributary::dataplane {
namespace {

constexpr std::string_view kDefaultSocket = "/run/memif.sock";  // the driver's
constexpr std::uint64_t kMostLog2RingSize = 14;
constexpr std::uint64_t kMostBufferBytes = 65535;

std::uint64_t number(const Devargs& device, std::string_view key, std::uint64_t low,
                     std::uint64_t high, std::uint64_t fallback) {
  const auto text = device.get(key);
  if (!text) return fallback;
  std::uint64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [at, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || at != end || value < low || value > high)
    throw std::invalid_argument(std::string(key) + "=" + std::string(*text) +
                                " is not a number from " + std::to_string(low) + " to " +
                                std::to_string(high));
  return value;
}

bool is_abstract(const Devargs& device) {
  const auto text = device.get("socket-abstract").value_or("yes");
  if (text != "yes" && text != "no")
    throw std::invalid_argument("socket-abstract=" + std::string(text) + " is neither yes nor no");
  return text == "yes";
}

std::array<char, 24> secret_of(const Devargs& device) {
  std::array<char, 24> secret{};
  const auto text = device.get("secret").value_or("");
  if (text.size() > secret.size())
    throw std::invalid_argument("secret has " + std::to_string(text.size()) + " bytes, at most " +
                                std::to_string(secret.size()) + " are possible");
  text.copy(secret.data(), secret.size());
  return secret;
}

}  // namespace

bool serves_memif(const Devargs& device) {
  return device.kind->memif && device.get("role") == "server";
}

std::string memif_socket(const Devargs& device) {
  return std::string(device.get("socket").value_or(kDefaultSocket));
}

MemifSettings memif_settings(const Devargs& device) {
  number(device, "rsize", 1, kMostLog2RingSize, 10);
  number(device, "bsize", 1, kMostBufferBytes, 2048);
  return {
      .device = device.device,
      .socket = memif_socket(device),
      .abstract = is_abstract(device),
      .id = static_cast<std::uint32_t>(
          number(device, "id", 0, std::numeric_limits<std::uint32_t>::max(), 0)),
      .secret = secret_of(device),
      .per_user = static_cast<std::uint32_t>(number(device, "per-user", 0, config::kMaxPorts, 0))};
}

}  // namespace tributary::dataplane
