#include "control/request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

ordered_json ask(const std::string& line) {
  const std::string reply = answer_request(line, [](const std::string& what) -> ordered_json {
    if (what == "broken") throw std::runtime_error("the packet loop did not answer in time");
    return ordered_json::array({{{"what", what}}});
  });
  EXPECT_EQ(reply.find('\n'), std::string::npos);
  return ordered_json::parse(reply);
}

TEST(Request, ShowIsAnswered) {
  const auto reply = ask(R"({"command":"show","what":"ports"})");
  EXPECT_EQ(reply.dump(), R"({"ok":true,"data":[{"what":"ports"}]})");
}

TEST(Request, MistakesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "the request is not a JSON object on one line"},
      {"[1]", "the request is not a JSON object on one line"},
      {"{\"command\":", "the request is not a JSON object on one line"},
      {std::string(3000, '['), "the request is not a JSON object on one line"},
      {R"({})", "the request lacks \"command\""},
      {R"({"command":7})", "\"command\" must be a string"},
      {R"({"command":"stop"})", "no command is called 'stop'; allowed: show"},
      {R"({"command":"show"})", "the request lacks \"what\""},
      {R"({"command":"show","what":"a","port":1})", "unknown key 'port'; allowed: command, what"},
      {R"({"command":"show","what":"broken"})", "the packet loop did not answer in time"},
  };
  for (const auto& [line, error] : cases) {
    const auto reply = ask(line);
    EXPECT_EQ(reply["ok"], false) << line;
    EXPECT_EQ(reply["error"], error) << line;
  }
}

TEST(Request, AnythingQuotedBackIsValidJson) {
  EXPECT_EQ(ask("{\"command\":\"\\u0000\\\"\"}")["ok"], false);
  EXPECT_EQ(ask("{\"command\":\"\xFF\"}")["ok"], false);
}

}  // namespace
}  // namespace tributary::control
