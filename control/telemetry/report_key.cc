#include "control/telemetry/report_key.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace tributary::control {
namespace {

constexpr std::size_t kLeastKeyBytes = 16;
constexpr std::size_t kMostKeyBytes = 1024;
constexpr mode_t kAllowedKeyMode = S_IRUSR | S_IWUSR | S_IRGRP;

class KeyDescriptor {
 public:
  // A FIFO does not hold the caller.
  explicit KeyDescriptor(const std::string& file)
      : number_(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~KeyDescriptor() {
    if (number_ >= 0) close(number_);
  }
  KeyDescriptor(const KeyDescriptor&) = delete;
  KeyDescriptor& operator=(const KeyDescriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }

 private:
  const int number_;
};

[[noreturn]] void refuse_key(const std::string& file, const std::string& what) {
  throw std::runtime_error(file + ": " + what);
}

void check_key_file(const std::string& file, int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) refuse_key(file, std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) refuse_key(file, "is no regular file; allowed: a file with a key");
  if (const mode_t mode = status.st_mode & 07777; (mode & ~kAllowedKeyMode) != 0) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "%04o", mode);
    refuse_key(file, std::string("has mode ") + text.data() +
                         ": other users may read or change the key; allowed: mode 0600 or 0640");
  }
  if (status.st_uid != geteuid() && status.st_uid != 0)
    refuse_key(file, "is another user's; allowed: a file of this user or of root");
}

std::string read_key_line(const std::string& file, int descriptor) {
  std::string text(kMostKeyBytes + 2, '\0');
  std::size_t used = 0;
  while (used < text.size()) {
    const ssize_t got = read(descriptor, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_key(file, std::generic_category().message(errno));
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  text.resize(used);  // keeps its memory, which is overwritten at the end
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

ReportKey::ReportKey(const std::string& file) {
  const KeyDescriptor descriptor(file);
  if (descriptor.get() < 0) refuse_key(file, std::generic_category().message(errno));
  check_key_file(file, descriptor.get());
  key_ = read_key_line(file, descriptor.get());
  const std::size_t bytes = key_.size();
  if (bytes >= kLeastKeyBytes && bytes <= kMostKeyBytes && key_.find('\n') == std::string::npos)
    return;
  OPENSSL_cleanse(key_.data(), bytes);
  refuse_key(file,
             "holds no key; allowed: one line of 16 to 1024 bytes, as of `openssl rand -hex 32`");
}

ReportKey::~ReportKey() {
  OPENSSL_cleanse(key_.data(), key_.size());
}

ReportKey::Mac ReportKey::mac_of(std::span<const std::byte> covered) const {
  Mac mac{};
  unsigned length = 0;
  if (HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
           reinterpret_cast<const unsigned char*>(covered.data()), covered.size(),
           reinterpret_cast<unsigned char*>(mac.data()), &length) == nullptr ||
      length != mac.size())
    throw std::runtime_error("HMAC-SHA256 fails");
  return mac;
}

std::size_t ReportKey::sign(std::span<std::byte> datagram, std::size_t used,
                            std::uint64_t sequence) const {
  const auto trailer = datagram.subspan(used, telemetry::kTrailerBytes);
  telemetry::write_trailer(sequence, trailer);
  const Mac mac = mac_of(datagram.first(used + telemetry::kMacAt));
  std::copy(mac.begin(), mac.end(), trailer.begin() + telemetry::kMacAt);
  return used + telemetry::kTrailerBytes;
}

bool ReportKey::has_signed(const telemetry::SignedDatagram& datagram) const {
  const Mac mac = mac_of(datagram.covered);
  return CRYPTO_memcmp(mac.data(), datagram.mac.data(), mac.size()) == 0;
}

}  // namespace tributary::control
