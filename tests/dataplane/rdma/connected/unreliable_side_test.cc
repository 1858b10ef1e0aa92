#include "dataplane/rdma/connected/unreliable_side.h"

#include <gtest/gtest.h>

#include <vector>

#include "dataplane/rdma/connected/receive_side.h"

namespace tributary::dataplane {
namespace {

using What = UnreliableSide::What;
using enum wire::RoceOperation;
constexpr std::uint32_t kMtu = 64;
constexpr std::uint32_t kFirst = 0xFFFFFE;  // two before the wrap

class UnreliableSideTest : public testing::Test {
 protected:
  UnreliableSideTest() { side.start(kFirst, kMtu); }

  wire::RoceView packet(wire::RoceOperation op, std::uint32_t nth, std::size_t bytes,
                        std::uint32_t length = 0) {
    const std::uint8_t opcode = wire::roce_opcode(wire::RoceTransport::uc, op);
    wire::RoceView view;
    view.bth = {.opcode = opcode, .psn = psn_after(kFirst, nth)};
    if (const auto* const shape = wire::roce_shape(opcode)) view.shape = *shape;
    view.reth = {terms.base, terms.rkey, length};
    view.payload = std::span(data_).first(bytes);
    return view;
  }
  // As the packet loop does where data is taken.
  What come(const wire::RoceView& view) {
    const auto step = side.look(view, terms);
    if (step.what == What::write || step.what == What::nothing)
      side.taken(view, step.address);
    else if (step.what != What::duplicate)
      side.discard(view, step.what);
    address = step.address;
    return step.what;
  }

  WindowTerms terms{.base = 0x5000, .rkey = 7, .op_bytes = 1024, .chunk_bytes = 64, .ops = 1};
  UnreliableSide side;
  std::uint64_t address = 0;

 private:
  std::vector<std::byte> data_ = std::vector<std::byte>(4096);
};

TEST_F(UnreliableSideTest, AWriteOfSeveralPacketsGoesOnWhereItWas) {
  EXPECT_EQ(come(packet(write_first, 0, kMtu, 144)), What::write);
  EXPECT_EQ(come(packet(write_middle, 1, kMtu)), What::write);
  EXPECT_EQ(address, 0x5000u + 64);
  EXPECT_EQ(come(packet(write_last_immediate, 2, 16)), What::write);
  EXPECT_EQ(address, 0x5000u + 128);
  EXPECT_EQ(come(packet(write_only_immediate, 3, kMtu, kMtu)), What::write);
  EXPECT_EQ(side.expected(), 2u);
}

TEST_F(UnreliableSideTest, A5_AfterAGapAllIsDiscardedUpToTheNextMessage) {
  EXPECT_EQ(come(packet(write_first, 0, kMtu, 256)), What::write);
  EXPECT_EQ(come(packet(write_middle, 2, kMtu)), What::gap);
  EXPECT_EQ(come(packet(write_middle, 1, kMtu)), What::gap) << "its message is given up";
  EXPECT_EQ(come(packet(write_last, 3, kMtu)), What::gap);
  EXPECT_EQ(come(packet(write_last, 7, kMtu)), What::gap);
  EXPECT_EQ(come(packet(write_first, 9, kMtu, 80)), What::write) << "any number ahead";
  EXPECT_EQ(come(packet(write_last, 10, 16)), What::write);
}

TEST_F(UnreliableSideTest, A5_OnlyNumbersAheadAreTaken) {
  EXPECT_EQ(come(packet(write_only, 5, kMtu, kMtu)), What::write);
  EXPECT_EQ(come(packet(write_only, 5, kMtu, kMtu)), What::duplicate) << "a duplicate";
  EXPECT_EQ(come(packet(write_only, 4, kMtu, kMtu)), What::duplicate) << "overtaken";
  EXPECT_EQ(come(packet(write_only, 5 + 0x800001, kMtu, kMtu)), What::duplicate)
      << "half of the numbers are behind";
  EXPECT_EQ(come(packet(write_only, 6, kMtu, kMtu)), What::write);
}

TEST_F(UnreliableSideTest, ARefusedPacketDoesNotComeAgain) {
  auto view = packet(write_first, 0, kMtu, 128);
  view.reth.rkey = 8;
  EXPECT_EQ(come(view), What::access_error);
  EXPECT_EQ(come(packet(write_last, 1, kMtu)), What::gap) << "nor is its message taken";
  EXPECT_EQ(come(packet(write_first, 0, kMtu, 128)), What::duplicate);
  EXPECT_EQ(come(packet(write_first, 1, kMtu, 128)), What::write);
}

TEST_F(UnreliableSideTest, AMessageWithinAnotherBeginsAnew) {
  EXPECT_EQ(come(packet(write_first, 0, kMtu, 144)), What::write);
  EXPECT_EQ(come(packet(write_only, 1, 32, 32)), What::write);
  EXPECT_EQ(address, 0x5000u);
  EXPECT_EQ(come(packet(write_last, 2, kMtu)), What::gap);
}

TEST_F(UnreliableSideTest, AWriteWithoutDataIsASignOfLife) {
  EXPECT_EQ(come(packet(write_only, 0, 0, 0)), What::nothing);
  EXPECT_EQ(side.expected(), psn_after(kFirst));
}

TEST_F(UnreliableSideTest, A5_OtherAddressesAndKeysAreNotTaken) {
  auto view = packet(write_only, 0, kMtu, kMtu);
  view.reth.address = terms.base - 1;
  EXPECT_EQ(come(view), What::access_error);
  EXPECT_EQ(come(packet(write_first, 1, kMtu, 1025)), What::access_error)
      << "its end is outside, before any byte is taken";
  view = packet(write_only, 2, kMtu, kMtu);
  view.reth.address = ~std::uint64_t{0} - 10;
  EXPECT_EQ(come(view), What::access_error);
}

TEST_F(UnreliableSideTest, MessagesThatBreakTheRulesAreNotTaken) {
  std::uint32_t nth = 0;
  for (const auto op : {send_first, send_only, send_only_immediate, read_request, compare_swap})
    EXPECT_EQ(come(packet(op, nth++, 0, 8)), What::invalid_request) << static_cast<int>(op);
  EXPECT_EQ(come(packet(write_only, nth++, 32, kMtu)), What::invalid_request);
  EXPECT_EQ(come(packet(write_only, nth++, 128, 128)), What::invalid_request) << "MTU";
  EXPECT_EQ(come(packet(write_first, nth++, 32, 144)), What::invalid_request);
  EXPECT_EQ(come(packet(write_first, nth++, kMtu, kMtu)), What::invalid_request);
  EXPECT_EQ(come(packet(write_first, nth++, kMtu, 144)), What::write);
  EXPECT_EQ(come(packet(write_last, nth++, 16)), What::invalid_request) << "too short";
  EXPECT_EQ(come(packet(write_first, nth++, kMtu, 144)), What::write);
  EXPECT_EQ(come(packet(write_last, nth++, 80)), What::invalid_request) << "beyond the MTU";
}

}  // namespace
}  // namespace tributary::dataplane
