// Tags put on, changed and taken off, in buffers that are one's own and in ones that are not.
#include "dataplane/frame/frame_tag.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/dataplane/l2_frame.h"

namespace tributary::dataplane {
namespace {

class FrameTag : public testing::Test {
 protected:
  RingSwitch sw{test_config(1)};

  rte_mbuf* buffer(const Bytes& frame) {
    rte_mbuf* out = rte_pktmbuf_alloc(sw.pool());
    std::memcpy(rte_pktmbuf_append(out, static_cast<std::uint16_t>(frame.size())), frame.data(),
                frame.size());
    return out;
  }
  static Bytes bytes_of(const rte_mbuf* frame) {
    const auto* data = rte_pktmbuf_mtod(frame, const std::byte*);
    EXPECT_EQ(frame->pkt_len, frame->data_len);
    return {data, data + frame->data_len};
  }
  // Frames of 60 bytes without their tag.
  static Bytes plain() { return l2_frame(host(2), host(1), 60); }
  static Bytes tagged(std::uint16_t tci) { return l2_frame(host(2), host(1), 64, tci); }
};

TEST_F(FrameTag, OwnBuffersAreChangedInPlace) {
  rte_mbuf* const frame = buffer(plain());
  EXPECT_EQ(with_tag(frame, false, 0xA00A, sw.pool()), frame);
  EXPECT_EQ(bytes_of(frame), tagged(0xA00A));
  EXPECT_EQ(with_tag(frame, true, 20, sw.pool()), frame);
  EXPECT_EQ(bytes_of(frame), tagged(20));
  EXPECT_EQ(without_tag(frame, sw.pool()), frame);
  EXPECT_EQ(bytes_of(frame), plain());
  rte_pktmbuf_free(frame);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// Protocol rule 19: who else holds it must not notice.
TEST_F(FrameTag, SharedBuffersAreCopied) {
  rte_mbuf* const frame = buffer(tagged(10));
  for (const int change : {0, 1}) {
    rte_mbuf_refcnt_update(frame, 1);
    rte_mbuf* const own =
        change == 0 ? without_tag(frame, sw.pool()) : with_tag(frame, true, 30, sw.pool());
    ASSERT_NE(own, frame);
    EXPECT_EQ(bytes_of(own), change == 0 ? plain() : tagged(30));
    EXPECT_EQ(bytes_of(frame), tagged(10));
    EXPECT_EQ(rte_mbuf_refcnt_read(frame), 1);
    rte_pktmbuf_free(own);
  }
  // Its bytes are another buffer's.
  rte_mbuf* const clone = rte_pktmbuf_clone(frame, sw.pool());
  rte_mbuf* const own = without_tag(clone, sw.pool());
  EXPECT_EQ(bytes_of(own), plain());
  EXPECT_EQ(bytes_of(frame), tagged(10));
  rte_pktmbuf_free(own);
  rte_pktmbuf_free(frame);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(FrameTag, ABufferWithoutRoomInFrontIsCopied) {
  rte_mbuf* const frame = buffer(plain());
  const auto headroom = rte_pktmbuf_headroom(frame);
  rte_pktmbuf_prepend(frame, headroom);
  std::memmove(rte_pktmbuf_mtod(frame, char*), rte_pktmbuf_mtod_offset(frame, char*, headroom), 60);
  rte_pktmbuf_trim(frame, headroom);
  rte_mbuf* const own = with_tag(frame, false, 7, sw.pool());
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(bytes_of(own), tagged(7));
  rte_pktmbuf_free(own);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(FrameTag, ChainsBecomeOneBufferOrNothing) {
  rte_mbuf* const head = buffer(plain());
  ASSERT_EQ(rte_pktmbuf_chain(head, buffer(plain())), 0);
  Bytes twice = plain();
  const Bytes once = plain();
  twice.insert(twice.end(), once.begin(), once.end());
  rte_mbuf* const copy = copy_frame(head, sw.pool());
  EXPECT_EQ(bytes_of(copy), twice);
  rte_pktmbuf_free(copy);
  for (int i = 0; i < 40; ++i) ASSERT_EQ(rte_pktmbuf_chain(head, buffer(plain())), 0);
  EXPECT_EQ(copy_frame(head, sw.pool()), nullptr);  // larger than any frame may be
  rte_pktmbuf_free(head);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
