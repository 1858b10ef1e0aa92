// T15, O12: trees of switches that declare the same brackets give the bits of one switch that
// evaluates them itself, for every type and op and all orders of arrival.
#include "core/net/udp_peer.h"
#include "tests/aggregator/reproducible.h"

namespace tributary::aggregator::reproducible {
namespace {

// Two levels or three, or one switch that evaluates the brackets itself.
struct Shape {
  // A switch: its children's names, each a rank or another switch; and how it combines them.
  struct Switch {
    std::vector<int> children;  // ranks, or -1 - place of a switch
    std::optional<Bracket> order;
  };
  const char* name;
  std::vector<Switch> switches;  // the first is the root
};

wire::Header chunk_header(const Case& c) {
  wire::Header h;
  h.type = PacketType::contribution;
  h.job = 7;
  h.covered = 1;
  h.dtype = c.dtype;
  h.reduce_op = c.op;
  h.element_count = kElements;
  h.flags = wire::kFlagLast;
  return h;
}

class Tree {
 public:
  explicit Tree(const Shape& shape, Trigger trigger) : shape_(shape) {
    nodes_.resize(shape.switches.size());
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      for (std::size_t c = 0; c < shape.switches[n].children.size(); ++c)
        if (const int child = shape.switches[n].children[c]; child < 0)
          nodes_[static_cast<std::size_t>(-1 - child)].up = {n, c};
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      nodes_[n].engine = std::make_unique<StillEngine>(
          config_of(n, trigger), dataplane::kUdpAddresses,
          EngineStart{.epoch = static_cast<std::uint16_t>(300 + 10 * n), .nonce_seed = n});
      nodes_[n].outbox = std::make_unique<Outbox>(nodes_[n].engine->outbox_capacity());
    }
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      std::array<std::byte, 16> room;
      wire::ExtensionWriter ext(room);
      ext.add_nonce(100 + r);
      wire::Header h;
      h.type = PacketType::join;
      h.job = 7;
      h.child = static_cast<std::uint16_t>(r);
      h.fan_in = kRanks;
      from_rank(r, h, ext.bytes(), {});
    }
    epoch_ = nodes_[0].engine->running_epoch(7).value_or(0);
  }
  [[nodiscard]] bool runs() const { return epoch_ != 0; }

  // What the switches multicast of the next chunk, each once.
  std::vector<std::vector<std::byte>> reduce(const Case& c, const Data& data,
                                             const std::vector<std::uint32_t>& arrival) {
    results_.clear();
    for (const std::uint32_t r : arrival) {
      wire::Header h = chunk_header(c);
      h.epoch = epoch_;
      h.op = h.seq = seq_;
      const Place at = place_of(static_cast<int>(r));
      h.child = static_cast<std::uint16_t>(at.child);
      h.fan_in = static_cast<std::uint16_t>(shape_.switches[at.node].children.size());
      from_rank(r, h, {}, packed(c.dtype, data[r]));
    }
    ++seq_;
    return results_;
  }

 private:
  static constexpr std::uint16_t kUplink = 7;
  struct Place {
    std::size_t node;
    std::size_t child;
  };
  struct Node {
    std::unique_ptr<StillEngine> engine;
    std::unique_ptr<Outbox> outbox;
    Place up{};
  };

  [[nodiscard]] Place place_of(int child) const {
    for (std::size_t n = 0; n < shape_.switches.size(); ++n) {
      const auto& children = shape_.switches[n].children;
      const auto at = std::find(children.begin(), children.end(), child);
      if (at != children.end()) return {n, static_cast<std::size_t>(at - children.begin())};
    }
    return {};
  }
  [[nodiscard]] std::vector<std::uint32_t> ranks_below(int child) const {
    if (child >= 0) return {static_cast<std::uint32_t>(child)};
    std::vector<std::uint32_t> ranks;
    for (const int inner : shape_.switches[static_cast<std::size_t>(-1 - child)].children)
      for (const std::uint32_t r : ranks_below(inner)) ranks.push_back(r);
    return ranks;
  }
  static std::uint32_t id_of(std::size_t node) { return 200 + static_cast<std::uint32_t>(node); }
  static std::uint32_t ipv4_of(std::size_t node) { return 0x0A4D0100u + id_of(node); }
  static wire::MacAddress mac_of(std::size_t node) {
    return {2, static_cast<std::uint8_t>(1 + node)};
  }

  [[nodiscard]] config::SwitchConfig config_of(std::size_t n, Trigger trigger) const {
    config::JobConfig job = reproducible_job(trigger);
    const Shape::Switch& self = shape_.switches[n];
    for (std::size_t c = 0; c < self.children.size(); ++c) {
      const int child = self.children[c];
      const std::string port = std::string("p").append(std::to_string(c));
      const auto node = static_cast<std::size_t>(-1 - child);
      if (child < 0)
        job.children.push_back({true, id_of(node), ipv4_of(node), port, ranks_below(child)});
      else
        job.children.push_back({false,
                                static_cast<std::uint32_t>(child),
                                0,
                                port,
                                {static_cast<std::uint32_t>(child)}});
    }
    job.child_order = self.order;
    if (n != 0) {
      const auto [parent, child] = nodes_[n].up;
      job.parent =
          config::ParentConfig{"above",
                               id_of(parent),
                               ipv4_of(parent),
                               mac_of(parent),
                               "p7",
                               static_cast<std::uint16_t>(child),
                               static_cast<std::uint16_t>(shape_.switches[parent].children.size())};
    }
    config::SwitchConfig config = test_switch({job});
    config.ports.clear();
    for (int i = 0; i <= kUplink; ++i)
      config.ports.push_back({std::string("p").append(std::to_string(i)),
                              std::string("net_null").append(std::to_string(i)), 1500});
    config.id = id_of(n);
    config.ipv4 = ipv4_of(n);
    return config;
  }

  void from_rank(std::uint32_t r, const wire::Header& header, std::span<const std::byte> extensions,
                 std::span<const std::byte> payload) {
    const auto [node, child] = place_of(static_cast<int>(r));
    wire::Header h = header;
    h.origin = r;
    const wire::MacAddress mac{2, 0, 0, 0, 0, static_cast<std::uint8_t>(r)};
    deliver(node, {h, extensions, payload},
            wire::UdpPeer(static_cast<std::uint16_t>(child), 5000, 0x0A4D0000u + r, {}, mac));
  }
  void deliver(std::size_t n, const wire::Packet& packet, const Endpoint& from) {
    Node& node = nodes_[n];
    node.engine->on_packet(packet, from, now_, *node.outbox);
    std::vector<Sent> sent;
    for (const Outgoing& o : node.outbox->items()) {
      const auto ext = o.extension_span();
      sent.push_back(
          {o.to, o.peer, o.header, {ext.begin(), ext.end()}, {o.payload.begin(), o.payload.end()}});
    }
    node.outbox->clear();
    for (const Sent& s : sent) carry(n, s);
  }
  void carry(std::size_t n, const Sent& s) {
    const wire::Packet packet{s.header, s.extensions, s.payload};
    if (s.to == Outgoing::To::parent) {
      const auto [parent, child] = nodes_[n].up;
      return deliver(
          parent, packet,
          wire::UdpPeer(static_cast<std::uint16_t>(child), 47000, ipv4_of(n), {}, mac_of(n)));
    }
    const bool to_all = s.to == Outgoing::To::job_group;
    if (to_all && s.header.type == PacketType::result) results_.push_back(s.payload);
    const auto& children = shape_.switches[n].children;
    for (std::size_t c = 0; c < children.size(); ++c)
      if (children[c] < 0 && (to_all || s.peer.port() == c))
        deliver(static_cast<std::size_t>(-1 - children[c]), packet,
                wire::UdpPeer(kUplink, 47000, ipv4_of(n), {}, mac_of(n)));
  }

  const Shape& shape_;
  std::vector<Node> nodes_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::uint16_t epoch_ = 0;
  std::uint32_t seq_ = 0;
  std::vector<std::vector<std::byte>> results_;
};

void expect_bits_of(const Bracket& declared, const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes)
    for (const Trigger trigger : {Trigger::streaming, Trigger::collect}) {
      SCOPED_TRACE(shape.name);
      Tree tree(shape, trigger);
      ASSERT_TRUE(tree.runs());
      for (const Case& c : kinds()) {
        const Data data = data_of(c, 7);
        const auto right = expected(c, declared, data);
        for_each_arrival([&](const auto& arrival) {
          const auto results = tree.reduce(c, data, arrival);
          ASSERT_EQ(results.size(), shape.switches.size());
          for (const auto& result : results) ASSERT_EQ(result, right) << reference::name_of(c);
        });
        if (testing::Test::HasFatalFailure()) return;
      }
    }
}

TEST(ReproducibleTree, T15_ShapesOfTheSameBracketsGiveTheSameBits) {
  const Bracket declared = list({list({rank(0), rank(1)}), list({rank(2), rank(3)}), rank(4)});
  expect_bits_of(
      declared,
      {{"one switch", {{{0, 1, 2, 3, 4}, declared}}},
       {"two leaves", {{{-2, -3, 4}, {}}, {{0, 1}, {}}, {{2, 3}, {}}}},
       {"the first bracket is a leaf",
        {{{-2, 2, 3, 4}, list({rank(0), list({rank(1), rank(2)}), rank(3)})}, {{0, 1}, {}}}},
       {"the second is",
        {{{0, 1, -2, 4}, list({list({rank(0), rank(1)}), rank(2), rank(3)})}, {{2, 3}, {}}}},
       {"children in another order",
        {{{4, -3, -2}, list({rank(2), rank(1), rank(0)})},
         {{1, 0}, list({rank(1), rank(0)})},
         {{2, 3}, {}}}}});
}

TEST(ReproducibleTree, T15_SoDoesAThirdLevel) {
  const Bracket pairs = list({list({rank(0), rank(1)}), list({rank(2), rank(3)})});
  const Bracket declared = list({pairs, rank(4)});
  expect_bits_of(
      declared,
      {{"one switch", {{{0, 1, 2, 3, 4}, declared}}},
       {"three levels", {{{-2, 4}, {}}, {{-3, -4}, {}}, {{0, 1}, {}}, {{2, 3}, {}}}},
       {"four ranks on one leaf", {{{-2, 4}, {}}, {{0, 1, 2, 3}, pairs}}},
       {"the pairs meet at the root",
        {{{-2, -3, 4}, list({list({rank(0), rank(1)}), rank(2)})}, {{0, 1}, {}}, {{2, 3}, {}}}}});
}

}  // namespace
}  // namespace tributary::aggregator::reproducible
