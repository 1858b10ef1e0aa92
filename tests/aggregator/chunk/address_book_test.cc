// An engine knows its parent by the endpoint that the address book gives it.
#include "aggregator/chunk/address_book.h"

#include <array>
#include <memory>

#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;

// It may be of any front end.
TEST_F(LeafTest, Rule20_KnowsItsParentByItsEndpointAlone) {
  static const class QueuePairs : public AddressBook {
   public:
    [[nodiscard]] Endpoint parent(const config::ParentConfig& above,
                                  std::uint16_t uplink) const override {
      return Endpoint({.front_end = FrontEndId::rdma,
                       .port = uplink,
                       .flow = 17,
                       .node = node_of_ipv4(above.ipv4),
                       .station = above.id,
                       .segment = {}});
    }
    [[nodiscard]] std::vector<Endpoint> root(const config::SwitchConfig&, const config::JobConfig&,
                                             std::uint16_t) const override {
      return {};
    }
  } book;
  config::SwitchConfig config = test_switch({leaf_job()});
  config.id = kLeafId;
  engine_ = std::make_unique<StillEngine>(config, book, EngineStart{41, 0});
  join_worker(0);
  join_worker(2);
  const std::uint64_t nonce = join_nonce();
  EXPECT_EQ(start(500, nonce).reason, DropReason::sender_mismatch) << "by UDP";
  std::array<std::byte, 128> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(nonce);
  ext.add(start_info_);
  wire::Header h = from_parent(PacketType::start);
  h.epoch = 500;
  h.child = 1;
  h.fan_in = 2;
  EXPECT_EQ(deliver({h, ext.bytes(), {}}, book.parent(*leaf_job().parent, 3)).verdict,
            Verdict::answered);
  EXPECT_EQ(engine_->uplink(kJob), 3);
}

}  // namespace
}  // namespace tributary::aggregator
