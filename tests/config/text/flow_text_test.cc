// Trees on one line, which parse back to what they were.
#include "config/text/flow_text.h"

#include <gmock/gmock.h>

namespace tributary::config {
namespace {

std::string again(const std::string& text) {
  return flow_text(parse_yaml(text));
}

TEST(FlowText, PlainWordsStayPlain) {
  EXPECT_EQ(again("{id: 7, members: [{rank: 0, port: w0.5}], lease: 10s, m: 02:74:00:00:00:01}"),
            "{id: 7, members: [{rank: 0, port: w0.5}], lease: 10s, m: 02:74:00:00:00:01}");
  EXPECT_EQ(again("[10, 100-199, -1, 10.0.0.0/8]"), "[10, 100-199, -1, 10.0.0.0/8]");
  EXPECT_EQ(again("{a: , b: ~}"), "{a: null, b: null}");
}

TEST(FlowText, OtherTextIsQuotedAndComesBack) {
  EXPECT_EQ(again("{d: 'net_null0,x=1'}"), "{d: \"net_null0,x=1\"}");
  for (const char* const hostile : {"",
                                    " ",
                                    "null",
                                    "a: b",
                                    "a #b",
                                    "{",
                                    "[x",
                                    "\"q\"",
                                    "back\\slash",
                                    "'",
                                    "- x",
                                    "-",
                                    "&a",
                                    "*a",
                                    "!t",
                                    "|",
                                    ">",
                                    "%",
                                    "@",
                                    "`",
                                    "a:",
                                    "tab\tline\nreturn\r",
                                    "\xC3\xA9",
                                    "?",
                                    ",",
                                    "~"}) {
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = hostile;
    const Node read = parse_yaml("[" + flow_text(node) + "]");
    ASSERT_EQ(read.items.size(), 1u) << hostile;
    EXPECT_EQ(read.items[0].kind, Node::Kind::scalar) << hostile;
    EXPECT_EQ(read.items[0].text, hostile);
  }
}

}  // namespace
}  // namespace tributary::config
