// The handshake with a hostile switch: messages of any type, content and length, in any order.
// Either the connection stands, which takes the whole sequence, or an error says why.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/fuzz/input.h"
#include "tests/fuzz/memif_server.h"
#include "tests/fuzz/target.h"
#include "worker/transport/memif_control.h"

namespace tributary::fuzz {
namespace {

using worker::memif::Message;
using worker::memif::MessageType;

std::vector<std::byte> bytes_of(const Message& m) {
  std::vector<std::byte> out(sizeof m);
  std::memcpy(out.data(), &m, sizeof m);
  return out;
}

// What an honest switch would say now, so that an input reaches the later steps.
Message honest(std::size_t step) {
  constexpr MessageType kOrder[] = {MessageType::hello, MessageType::ack, MessageType::ack,
                                    MessageType::ack,   MessageType::ack, MessageType::connected};
  Message m{};
  m.type = step < std::size(kOrder) ? kOrder[step] : MessageType::disconnect;
  if (m.type == MessageType::hello) {
    m.hello.min_version = m.hello.max_version = worker::memif::kVersion;
    m.hello.max_log2_ring_size = 14;
  }
  return m;
}

MemifServer::Script draw_script(Input& in) {
  MemifServer::Script script;
  for (std::size_t step = in.below(9), i = 0; i < step; ++i) {
    Message m = honest(i);
    const std::uint32_t kind = in.below(8);
    if (kind >= 6) m.type = static_cast<MessageType>(kind == 6 ? in.below(9) : in.u16());
    if (kind >= 4) {
      const auto body = in.bytes(in.below(sizeof m.raw + 1));
      if (!body.empty()) std::memcpy(m.raw.data(), body.data(), body.size());
    }
    script.push_back(bytes_of(m));
    // 0 would be read as the end.
    if (kind == 5) script.back().resize(in.between(1, 200));
  }
  return script;
}

void check(MemifServer& server, Input& in) {
  const auto script = draw_script(in);
  server.set_script(script);
  worker::MemifRings rings;
  try {
    worker::MemifControl control(server.path(), in.u32(), rings, Duration::seconds(10));
    FUZZ_CHECK(script.size() >= 6);
    // What follows is a message, or the end; never a wait.
    for (std::size_t i = 6; i <= script.size() && !control.server_left(); ++i) {
    }
    FUZZ_CHECK(rings.tx_room() == rings.depth() && !rings.broken());
  } catch (const worker::MemifConnectError& error) {
    const std::string text = error.what();
    FUZZ_CHECK(text.find(server.path()) != std::string::npos);
    FUZZ_CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static tributary::fuzz::MemifServer server;
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::check(server, in);
  return 0;
}
