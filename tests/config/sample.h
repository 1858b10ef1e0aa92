// A valid configuration whose lines tests replace one at a time, and what a file is refused for.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "config/load/load.h"

namespace tributary::config {

inline constexpr std::string_view kSample =
    "switch:\n"                                                   // 1
    "  name: leaf0\n"                                             // 2
    "  address: 10.77.0.254\n"                                    // 3
    "  mac: \"02:74:0a:4d:00:fe\"\n"                              // 4
    "  udp_base_port: 47000\n"                                    // 5
    "  slots: 4096\n"                                             // 6
    "  lcore: 0\n"                                                // 7
    "  idle_sleep_max: 200us\n"                                   // 8
    "  memory: {hugepages: false, megabytes: 256}\n"              // 9
    "ports:\n"                                                    // 10
    "  - {name: w0, devargs: \"net_null0,copy=1\", mtu: 9000}\n"  // 11
    "  - {name: w1, devargs: \"net_null1\", mtu: 9000}\n"         // 12
    "jobs:\n"                                                     // 13
    "  - id: 1\n"                                                 // 14
    "    name: train\n"                                           // 15
    "    workers: 2\n"                                            // 16
    "    window: 64\n"                                            // 17
    "    chunk_bytes: 8192\n"                                     // 18
    "    shards: 1\n"                                             // 19
    "    deadline: 30s\n"                                         // 20
    "    lease: 10s\n"                                            // 21
    "    integrity: udp-checksum\n"                               // 22
    "    members:\n"                                              // 23
    "      - {rank: 0, port: w0}\n"                               // 24
    "      - {rank: 1, port: w1}\n"                               // 25
    "forwarding:\n"                                               // 26
    "  fdb_entries: 4096\n"                                       // 27
    "  fdb_ageing: 300s\n"                                        // 28
    "  static_macs:\n"                                            // 29
    "    - {mac: \"00:00:5e:00:01:01\", port: w0}\n"              // 30
    "metrics: {listen: 127.0.0.1:9400}\n"                         // 31
    "control: {socket: /run/tributary/switchd.sock}\n";           // 32

// The sample with line `number` replaced; an empty line removes it.
inline std::string sample_with(int number, std::string_view line) {
  std::string out;
  int at = 1;
  for (std::size_t begin = 0; begin < kSample.size(); ++at) {
    const std::size_t end = kSample.find('\n', begin);
    const auto old = kSample.substr(begin, end - begin);
    out += std::string(at == number ? line : old) + '\n';
    begin = end + 1;
  }
  return out;
}

// The one place where a text has `from` has `to` instead.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// Errors of `parse(text, file)` as text; empty when the configuration is accepted.
template <typename Parse>
std::vector<std::string> errors_of(std::string_view text, Parse parse, const char* file) {
  std::vector<std::string> lines;
  try {
    (void)parse(text, file);
  } catch (const ConfigErrors& e) {
    for (const auto& error : e.errors()) lines.push_back(error.to_string());
  }
  return lines;
}
inline std::vector<std::string> errors_of(std::string_view text) {
  return errors_of(text, parse_switch_config, "f.yaml");
}

// One line of the sample changed, and the only error it causes (as a prefix).
struct BadLine {
  int number;
  const char* line;
  const char* error;
};
inline void PrintTo(const BadLine& bad, std::ostream* out) {
  *out << bad.line;
}
inline void expect_refused(const BadLine& bad) {
  const auto errors = errors_of(sample_with(bad.number, bad.line));
  ASSERT_EQ(errors.size(), 1u) << bad.line << testing::PrintToString(errors);
  EXPECT_TRUE(errors[0].starts_with(bad.error)) << errors[0] << "\nexpected " << bad.error;
}

}  // namespace tributary::config
