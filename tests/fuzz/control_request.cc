// The control socket's requests: for any input, one line of valid JSON goes out, and only a
// well-formed `show` reaches the switch. A request for a capture is either one that can be made, or
// refused with a text, and no name is looked up; the same holds for keys that are to be set.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "config/change/override.h"
#include "config/text/error.h"
#include "config/topology/document.h"
#include "control/capture/capture.h"
#include "control/change/request.h"
#include "tests/dataplane/lookups.h"
#include "tests/fuzz/target.h"

namespace {

void check_capture(std::string_view line) {
  using namespace tributary::control;
  const unsigned lookups = tributary::dataplane::lookups();
  try {
    const auto request = capture_request(line);
    if (!request) return;
    const auto wish = capture_wish(*request, {"ports", "w0"});
    FUZZ_CHECK(wish.ports.size() == 2 && wish.snap >= 1 && (wish.rx || wish.tx || wish.drop));
  } catch (const std::invalid_argument& error) {
    FUZZ_CHECK(error.what()[0] != '\0');
  }
  FUZZ_CHECK(tributary::dataplane::lookups() == lookups);
}

// What is to be set is found in a document and read back from it, or refused with a text.
void check_set(std::string_view line) {
  using namespace tributary;
  static const config::Document kDocument = config::parse_document(
      "switch: {address: 10.77.0.254}\n"
      "ports: [{name: w0, devargs: net_null0, storm: }, {name: w0.5, devargs: net_null1}]\n"
      "jobs: [{id: 1, workers: 2}]\n",
      "f", "");
  const auto set = [](const control::SetRequest& request) -> nlohmann::ordered_json {
    const std::size_t count = request.values.size() + request.remove.size();
    FUZZ_CHECK(request.unset_all ? count == 0 : count >= 1 && count <= control::kMostSetKeys);
    config::Document document = kDocument;
    for (const auto& [path, value] : request.values) {
      if (value && config::is_element_text(*value)) {
        config::Member member = config::find_member(document, path);
        config::Node element = config::parse_element(member, *value);
        member.name = config::child_of(&element, member.key)->text;
        config::put_element(document, member, element);
        FUZZ_CHECK(member.name.empty() || config::element_at(document, member) != nullptr);
        (void)config::parse_yaml(config::text_of(element));
        continue;
      }
      const config::Place place = config::find_place(document, path);
      FUZZ_CHECK(config::find_place(document, place.path).path == place.path);
      if (!value) continue;
      config::put_value(document, place, config::parse_value(place.path, *value));
      FUZZ_CHECK(config::value_at(document, place) != nullptr);
    }
    for (const std::string& path : request.remove) {
      const config::Member member = config::find_member(document, path);
      config::remove_element(document, member);
      FUZZ_CHECK(config::element_at(document, member) == nullptr);
    }
    try {
      (void)config::switch_config(document);
    } catch (const config::ConfigErrors& errors) {
      FUZZ_CHECK(errors.what()[0] != '\0');
    }
    return "set";
  };
  const std::string reply = control::answer_request(
      line,
      {.show = [](const std::string&) { return nlohmann::ordered_json::array(); }, .set = set});
  FUZZ_CHECK(reply.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using nlohmann::ordered_json;
  const auto line = tributary::fuzz::as_text(data, size);
  check_capture(line);
  check_set(line);
  bool asked = false;
  const std::string reply = tributary::control::answer_request(
      line, {.show = [&](const std::string& what) -> ordered_json {
        asked = true;
        if (what != "ports") throw std::invalid_argument("nothing is called '" + what + "'");
        return ordered_json::array({{{"port", what}}});
      }});
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
