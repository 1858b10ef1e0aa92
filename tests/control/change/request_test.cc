#include "control/change/request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

ordered_json ask(const std::string& line) {
  const std::string reply =
      answer_request(line, {.show = [](const std::string& what) -> ordered_json {
                       if (what == "broken")
                         throw std::runtime_error("the packet loop did not answer in time");
                       return ordered_json::array({{{"what", what}}});
                     }});
  EXPECT_EQ(reply.find('\n'), std::string::npos);
  return ordered_json::parse(reply);
}

TEST(Request, ShowIsAnswered) {
  const auto reply = ask(R"({"command":"show","what":"ports"})");
  EXPECT_EQ(reply.dump(), R"({"ok":true,"data":[{"what":"ports"}]})");
}

TEST(Request, WhatIsToBeSaidBesideTheRowsIsInTheAnswer) {
  const std::string reply =
      answer_request(R"({"command":"show","what":"jobs"})", {.show = [](const std::string&) {
                       ShowAnswer shown(ordered_json::array());
                       shown.notes = {"not all", "but some"};
                       return shown;
                     }});
  EXPECT_EQ(reply, R"({"ok":true,"data":[],"notes":["not all","but some"]})");
}

TEST(Request, ReloadAnswersWhatCameOfIt) {
  const auto show = [](const std::string&) { return ordered_json(); };
  const auto ask_reload = [&](const std::string& line, const ReloadFunction& reload) {
    return ordered_json::parse(answer_request(line, {.show = show, .reload = reload}));
  };
  const char* const line = R"({"command":"reload"})";
  EXPECT_EQ(ask_reload(line, [] { return "jobs: 1 changed; 0 as before"; }).dump(),
            R"({"ok":true,"data":"jobs: 1 changed; 0 as before"})");
  const auto refused = [&]() -> std::string { throw std::runtime_error("f.yaml:3: mistake"); };
  EXPECT_EQ(ask_reload(line, refused).dump(), R"({"ok":false,"error":"f.yaml:3: mistake"})");
  EXPECT_EQ(ask_reload(R"({"command":"reload","what":"x"})", refused)["error"],
            "unknown key 'what'; allowed: command");
  EXPECT_EQ(ask_reload(R"({"command":"stop"})", refused)["error"],
            "no command is called 'stop'; allowed: show, reload");
  EXPECT_EQ(ask(line)["error"], "no command is called 'reload'; allowed: show");
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

// T13: by hand.
TEST(Request, ExcludeAndReinstate) {
  std::vector<std::string> wishes;
  const auto ask_to = [&](const std::string& line) {
    return answer_request(line, {.exclude = [&](const ExcludeRequest& wish) -> std::uint32_t {
                            if (wish.rank == 9) throw std::invalid_argument("no such rank");
                            std::string text = wish.exclude ? "+" : "-";
                            text.append(std::to_string(wish.job)).append("/");
                            text.append(std::to_string(wish.rank)).append("@");
                            text.append(wish.from ? std::to_string(*wish.from) : "next");
                            wishes.push_back(text);
                            return 42;
                          }});
  };
  EXPECT_EQ(ask_to(R"({"command":"exclude","job":1,"rank":3})"),
            R"({"ok":true,"data":{"from":42}})");
  EXPECT_EQ(ask_to(R"({"command":"reinstate","job":1,"rank":3,"from":7})"),
            R"({"ok":true,"data":{"from":42}})");
  EXPECT_EQ(wishes, (std::vector<std::string>{"+1/3@next", "-1/3@7"}));
  const auto error = [&](const char* line) {
    return ordered_json::parse(ask_to(line))["error"].get<std::string>();
  };
  EXPECT_EQ(error(R"({"command":"exclude","job":1,"rank":9})"), "no such rank");
  EXPECT_EQ(error(R"({"command":"exclude","job":1})"), "the request lacks \"rank\"");
  for (const char* bad : {"-1", "\"3\"", "1.5", "4294967296"})
    EXPECT_EQ(error((std::string(R"({"command":"exclude","job":1,"rank":)") + bad + "}").c_str()),
              "\"rank\" must be a number from 0 to 4294967295");
  EXPECT_EQ(error(R"({"command":"exclude","job":1,"rank":1,"to":3})"),
            "unknown key 'to'; allowed: command, job, rank, from");
  EXPECT_EQ(error(R"({"command":"stop"})"),
            "no command is called 'stop'; allowed: exclude, reinstate");
}

// T11: by a caller who knows the load.
TEST(Request, Elect) {
  PlaceHostRequest got;
  const auto ask_to = [&](const std::string& line) {
    return ordered_json::parse(
        answer_request(line, {.place_host = [&](const PlaceHostRequest& wish) -> ordered_json {
                         got = wish;
                         if (wish.job == 9) throw std::invalid_argument("no such job");
                         return {{"moved", 1}};
                       }}));
  };
  EXPECT_EQ(
      ask_to(R"({"command":"place-host","job":1,"loads":{"A":7,"B":0},"candidates":["B"]})").dump(),
      R"({"ok":true,"data":{"moved":1}})");
  EXPECT_EQ(got.job, 1u);
  EXPECT_EQ(got.loads, (std::map<std::string, std::uint32_t>{{"A", 7}, {"B", 0}}));
  EXPECT_EQ(got.candidates, std::vector<std::string>{"B"});
  EXPECT_EQ(ask_to(R"({"command":"place-host","job":2})")["ok"], true);
  EXPECT_TRUE(got.loads.empty() && got.candidates.empty());
  const auto error = [&](const char* line) { return ask_to(line)["error"].get<std::string>(); };
  EXPECT_EQ(error(R"({"command":"place-host"})"), "the request lacks \"job\"");
  EXPECT_EQ(error(R"({"command":"place-host","job":9})"), "no such job");
  EXPECT_EQ(error(R"({"command":"place-host","job":1,"loads":[1]})"),
            "\"loads\" must be an object, by host");
  EXPECT_EQ(error(R"({"command":"place-host","job":1,"loads":{"A":-1}})"),
            "\"A\" must be a number from 0 to 4294967295");
  EXPECT_EQ(error(R"({"command":"place-host","job":1,"candidates":[1]})"),
            "\"candidates\" must be a list of hosts");
  EXPECT_EQ(error(R"({"command":"place-host","job":1,"rank":3})"),
            "unknown key 'rank'; allowed: command, job, loads, candidates");
}

TEST(Request, Set) {
  SetRequest got;
  const auto ask_to = [&](const std::string& line) {
    return ordered_json::parse(
        answer_request(line, {.set = [&](const SetRequest& wish) -> ordered_json {
                         got = wish;
                         return {{"change", "nothing changed"}};
                       }}));
  };
  EXPECT_EQ(ask_to(R"({"command":"set","values":{"a.b":"7","c":null},"dry_run":true})").dump(),
            R"({"ok":true,"data":{"change":"nothing changed"}})");
  ASSERT_EQ(got.values.size(), 2u);
  EXPECT_EQ(got.values[0], (std::pair<std::string, std::optional<std::string>>("a.b", "7")));
  EXPECT_EQ(got.values[1].second, std::nullopt);
  EXPECT_TRUE(got.dry_run);
  EXPECT_EQ(ask_to(R"({"command":"set","values":{"a":""}})")["ok"], true);
  EXPECT_FALSE(got.dry_run);
  EXPECT_EQ(ask_to(R"({"command":"set","remove":["jobs.1"]})")["ok"], true);
  EXPECT_THAT(got.remove, testing::ElementsAre("jobs.1"));
  EXPECT_EQ(ask_to(R"({"command":"set","unset_all":true})")["ok"], true);
  EXPECT_TRUE(got.unset_all);
  const auto error = [&](const std::string& line) {
    return ask_to(line)["error"].get<std::string>();
  };
  EXPECT_EQ(error(R"({"command":"set","remove":"jobs.1"})"), "\"remove\" must be a list of paths");
  EXPECT_EQ(error(R"({"command":"set","remove":[1]})"), "\"remove\" must be a list of paths");
  for (const char* bad : {"false,", R"(true,"values":{"a":"1"},)", R"(true,"remove":["a"],)"})
    EXPECT_EQ(error(std::string(R"({"command":"set","unset_all":)") + bad + R"("dry_run":true})"),
              "\"unset_all\" must be true, without \"values\" or \"remove\"");
  const char* const values = "\"values\" must be an object of 1 to 32 paths and their values";
  std::string many = R"({"command":"set","values":{"k":"v")";
  for (int i = 0; i < 32; ++i) many += ",\"k" + std::to_string(i) + "\":\"v\"";
  for (const std::string& bad :
       {std::string(R"({"command":"set"})"), std::string(R"({"command":"set","values":{}})"),
        std::string(R"({"command":"set","values":["a"]})"), many + "}}"})
    EXPECT_EQ(error(bad), values) << bad;
  for (const char* bad : {"7", "true", "[]", "{}"})
    EXPECT_EQ(error(std::string(R"({"command":"set","values":{"a":)") + bad + "}}"),
              "the value of 'a' must be a string, or null");
  EXPECT_EQ(error(R"({"command":"set","values":{"a":"1"},"dry_run":1})"),
            "\"dry_run\" must be true or false");
  EXPECT_EQ(error(R"({"command":"set","values":{"a":"1"},"default":true})"),
            "unknown key 'default'; allowed: command, values, remove, unset_all, dry_run");
  EXPECT_EQ(error(R"({"command":"stop"})"), "no command is called 'stop'; allowed: set");
  EXPECT_EQ(ask(R"({"command":"set"})")["ok"], false);
}

// O1: by an operator, for the maintenance of the switch.
TEST(Request, Drain) {
  DrainRequest got;
  const auto ask_to = [&](const std::string& line) {
    return ordered_json::parse(
        answer_request(line, {.drain = [&](const DrainRequest& wish) -> std::vector<std::uint32_t> {
                         got = wish;
                         if (wish.jobs == std::vector<std::uint32_t>{9})
                           throw std::runtime_error("not drained");
                         return {1, 7};
                       }}));
  };
  EXPECT_EQ(ask_to(R"({"command":"drain"})").dump(), R"({"ok":true,"data":{"jobs":[1,7]}})");
  EXPECT_TRUE(got.jobs.empty() && !got.undo);
  EXPECT_EQ(ask_to(R"({"command":"drain","jobs":[7,1],"undo":true})")["ok"], true);
  EXPECT_EQ(got.jobs, (std::vector<std::uint32_t>{7, 1}));
  EXPECT_TRUE(got.undo);
  const auto error = [&](const char* line) { return ask_to(line)["error"].get<std::string>(); };
  EXPECT_EQ(error(R"({"command":"drain","jobs":[9]})"), "not drained");
  EXPECT_EQ(error(R"({"command":"drain","jobs":7})"), "\"jobs\" must be a list of ids");
  EXPECT_EQ(error(R"({"command":"drain","jobs":[-1]})"),
            "\"jobs\" must be a number from 0 to 4294967295");
  EXPECT_EQ(error(R"({"command":"drain","undo":1})"), "\"undo\" must be true or false");
  EXPECT_EQ(error(R"({"command":"drain","job":1})"),
            "unknown key 'job'; allowed: command, jobs, undo");
  EXPECT_EQ(error(R"({"command":"stop"})"), "no command is called 'stop'; allowed: drain");
}

TEST(Request, ThoseThatChangeTheConfigurationTakeLong) {
  EXPECT_TRUE(takes_long(R"({"command":"reload"})"));
  EXPECT_TRUE(takes_long(R"({"command":"drain"})"));
  EXPECT_TRUE(takes_long(R"({"command":"set","values":{}})"));
  for (const char* line : {R"({"command":"show","what":"set"})", R"({"command":"exclude"})",
                           R"({"command":["set"]})", R"({})", "[]", "reload", "", "\xFF"})
    EXPECT_FALSE(takes_long(line)) << line;
}

TEST(Request, AnythingQuotedBackIsValidJson) {
  EXPECT_EQ(ask("{\"command\":\"\\u0000\\\"\"}")["ok"], false);
  EXPECT_EQ(ask("{\"command\":\"\xFF\"}")["ok"], false);
}

}  // namespace
}  // namespace tributary::control
