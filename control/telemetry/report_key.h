// Key that the switches of a telemetry domain and its server share: signs datagrams of reports by
// HMAC-SHA-256 and checks such signatures (telemetry/wire/trailer.h).
//
// The key is read from a file that the owner alone may write and others may not read. It is in no
// message and no log, and its memory is overwritten at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "telemetry/wire/trailer.h"

namespace tributary::control {

class ReportKey {
 public:
  // The key is the only line of `file`. Throws std::runtime_error that names the file and what is
  // wrong.
  explicit ReportKey(const std::string& file);
  ~ReportKey();
  ReportKey(const ReportKey&) = delete;
  ReportKey& operator=(const ReportKey&) = delete;

  // Signs the first `used` bytes of `datagram`, which has room for the trailer. Returns the length
  // with it.
  std::size_t sign(std::span<std::byte> datagram, std::size_t used, std::uint64_t sequence) const;
  // True if the HMAC is that of this key. Takes the same time for any wrong one.
  [[nodiscard]] bool has_signed(const telemetry::SignedDatagram& datagram) const;

 private:
  using Mac = std::array<std::byte, telemetry::kMacBytes>;
  [[nodiscard]] Mac mac_of(std::span<const std::byte> covered) const;

  std::string key_;
};

}  // namespace tributary::control
