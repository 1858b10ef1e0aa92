#include "tools/client/control/watch.h"

#include <array>
#include <ctime>

#include "config/text/codec.h"
#include "tools/cli/app.h"

namespace tributary::client {

Duration parse_every(const std::string& text) {
  const auto every = config::parse_duration(text);
  if (!every || *every < Duration::ms(100) || *every > Duration::seconds(3600))
    throw cli::UsageError("--every", "'" + text + "'; allowed: 100ms to 1h, such as 1s");
  return *every;
}

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

}  // namespace tributary::client
