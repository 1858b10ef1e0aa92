// The control socket's requests: whatever comes in, one line of valid JSON goes out, and only a
// well-formed `show` reaches the switch. What asks for a capture is one that can be made, or is
// refused with a text.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "control/capture.h"
#include "control/request.h"
#include "tests/fuzz/target.h"

namespace {

void check_capture(std::string_view line) {
  using namespace tributary::control;
  try {
    const auto request = capture_request(line);
    if (!request) return;
    const auto wish = capture_wish(*request, {"ports", "w0"});
    FUZZ_CHECK(wish.ports.size() == 2 && wish.snap >= 1 && (wish.rx || wish.tx || wish.drop));
  } catch (const std::invalid_argument& error) {
    FUZZ_CHECK(error.what()[0] != '\0');
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using nlohmann::ordered_json;
  const auto line = tributary::fuzz::as_text(data, size);
  check_capture(line);
  bool asked = false;
  const std::string reply =
      tributary::control::answer_request(line, [&](const std::string& what) -> ordered_json {
        asked = true;
        if (what != "ports") throw std::invalid_argument("nothing is called '" + what + "'");
        return ordered_json::array({{{"port", what}}});
      });
  FUZZ_CHECK(reply.find('\n') == std::string::npos);
  const auto parsed = ordered_json::parse(reply, nullptr, false);
  FUZZ_CHECK(parsed.is_object() && parsed.size() == 2 && parsed.at("ok").is_boolean());
  if (parsed.at("ok").get<bool>()) {
    FUZZ_CHECK(asked && parsed.at("data").is_array());
    // What was understood is what an independent reading finds.
    const auto request = ordered_json::parse(line, nullptr, false);
    FUZZ_CHECK(request.is_object() && request.at("command") == "show");
    FUZZ_CHECK(request.at("what") == "ports" && request.size() == 2);
  } else {
    FUZZ_CHECK(!parsed.at("error").get<std::string>().empty());
  }
  return 0;
}
