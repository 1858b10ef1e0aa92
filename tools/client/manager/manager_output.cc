#include "tools/client/manager/manager_output.h"

#include <ctime>
#include <iostream>

namespace tributary::client {

void print_json(const Json& json) {
  std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

std::string time_text(const Json& event) {
  // 64 bits are text in this JSON.
  const std::time_t at = std::stoll(event.value("time_ms", "0")) / 1000;
  std::tm utc{};
  char time[32] = "";
  if (gmtime_r(&at, &utc) != nullptr) std::strftime(time, sizeof time, "%FT%TZ", &utc);
  return time;
}

}  // namespace tributary::client
