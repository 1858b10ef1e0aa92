#include "dataplane/rdma/connected/receive_side.h"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::dataplane {
namespace {

using What = ReceiveSide::What;
using enum wire::RoceOperation;
constexpr std::uint32_t kMtu = 64;

class ReceiveSideTest : public testing::Test {
 protected:
  ReceiveSideTest() { side.start(0xFFFFFE, kMtu); }  // two before the wrap

  wire::RoceView packet(wire::RoceOperation op, std::uint32_t psn, std::size_t bytes,
                        std::uint32_t length = 0) {
    const std::uint8_t opcode = wire::roce_opcode(wire::RoceTransport::rc, op);
    wire::RoceView view;
    view.bth = {.opcode = opcode, .psn = psn & wire::kMaxQpn};
    if (const auto* const shape = wire::roce_shape(opcode)) view.shape = *shape;
    view.reth = {terms.base, terms.rkey, length};
    view.payload = std::span(data_).first(bytes);
    return view;
  }
  ReceiveSide::Step look(const wire::RoceView& view) const { return side.look(view, terms); }
  void take(const wire::RoceView& view) {
    const auto step = look(view);
    ASSERT_EQ(step.what, What::write);
    side.taken(view, step.address);
  }

  WindowTerms terms{.base = 0x5000, .rkey = 7, .op_bytes = 1024, .chunk_bytes = 64, .ops = 1};
  ReceiveSide side;

 private:
  std::vector<std::byte> data_ = std::vector<std::byte>(4096);
};

TEST_F(ReceiveSideTest, AWriteOfSeveralPacketsGoesOnWhereItWas) {
  take(packet(write_first, 0xFFFFFE, kMtu, 144));
  auto step = look(packet(write_middle, 0xFFFFFF, kMtu));
  EXPECT_EQ(step.what, What::write);
  EXPECT_EQ(step.address, 0x5000u + 64);
  take(packet(write_middle, 0xFFFFFF, kMtu));
  EXPECT_EQ(side.messages(), 0u);
  step = look(packet(write_last, 0, 16));
  EXPECT_EQ(step.address, 0x5000u + 128);
  take(packet(write_last, 0, 16));
  EXPECT_EQ(side.messages(), 1u);
  EXPECT_EQ(side.expected(), 1u);
  take(packet(write_only_immediate, 1, kMtu, kMtu));
  EXPECT_EQ(side.messages(), 2u);
}

TEST_F(ReceiveSideTest, OneNakAsksForWhatIsMissing) {
  EXPECT_EQ(look(packet(write_only, 0, kMtu, kMtu)).what, What::gap);
  side.asked();
  EXPECT_EQ(look(packet(write_only, 1, kMtu, kMtu)).what, What::waiting);
  take(packet(write_only, 0xFFFFFE, kMtu, kMtu));
  EXPECT_EQ(look(packet(write_only, 1, kMtu, kMtu)).what, What::gap) << "and again for the next";
}

TEST_F(ReceiveSideTest, WhatWasTakenIsADuplicate) {
  take(packet(write_only, 0xFFFFFE, kMtu, kMtu));
  EXPECT_EQ(look(packet(write_only, 0xFFFFFE, kMtu, kMtu)).what, What::duplicate);
  EXPECT_EQ(look(packet(write_only, 0x800000, kMtu, kMtu)).what, What::duplicate)
      << "half of the numbers are behind";
  EXPECT_EQ(look(packet(read_request, 0xFFFFF0, 0, 8)).what, What::duplicate);
}

TEST_F(ReceiveSideTest, AWriteWithoutDataTakesANumber) {
  const auto empty = packet(write_only, 0xFFFFFE, 0, 0);
  EXPECT_EQ(look(empty).what, What::nothing);
  side.taken(empty, 0);
  EXPECT_EQ(side.expected(), 0xFFFFFFu);
}

TEST_F(ReceiveSideTest, A5_OtherAddressesAndKeysAreErrors) {
  auto view = packet(write_only, 0xFFFFFE, kMtu, kMtu);
  view.reth.rkey = 8;
  EXPECT_EQ(look(view).what, What::access_error);
  view = packet(write_only, 0xFFFFFE, kMtu, kMtu);
  view.reth.address = terms.base - 1;
  EXPECT_EQ(look(view).what, What::access_error);
  EXPECT_EQ(look(packet(write_first, 0xFFFFFE, kMtu, 1025)).what, What::access_error)
      << "its end is outside, before any byte is taken";
  view.reth.address = ~std::uint64_t{0} - 10;
  EXPECT_EQ(look(view).what, What::access_error);
}

TEST_F(ReceiveSideTest, MessagesThatBreakTheRulesAreErrors) {
  for (const auto op : {send_first, send_only, read_request, compare_swap, fetch_add})
    EXPECT_EQ(look(packet(op, 0xFFFFFE, 0, 8)).what, What::invalid_request) << static_cast<int>(op);
  EXPECT_EQ(look(packet(write_middle, 0xFFFFFE, kMtu)).what, What::invalid_request) << "no FIRST";
  EXPECT_EQ(look(packet(write_only, 0xFFFFFE, 32, kMtu)).what, What::invalid_request);
  EXPECT_EQ(look(packet(write_only, 0xFFFFFE, 128, 128)).what, What::invalid_request) << "MTU";
  EXPECT_EQ(look(packet(write_first, 0xFFFFFE, 32, 144)).what, What::invalid_request);
  EXPECT_EQ(look(packet(write_first, 0xFFFFFE, kMtu, kMtu)).what, What::invalid_request);
  take(packet(write_first, 0xFFFFFE, kMtu, 144));
  EXPECT_EQ(look(packet(write_only, 0xFFFFFF, kMtu, kMtu)).what, What::invalid_request)
      << "a message within another";
  EXPECT_EQ(look(packet(write_last, 0xFFFFFF, 16)).what, What::invalid_request) << "too short";
  EXPECT_EQ(look(packet(write_last, 0xFFFFFF, 80)).what, What::invalid_request) << "beyond the MTU";
}

}  // namespace
}  // namespace tributary::dataplane
