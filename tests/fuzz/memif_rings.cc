// A memif connection's shared memory under a hostile switch, which holds the same memory and
// writes indices, flags and descriptors as it likes. The client never looks outside its buffers,
// never delivers more than it offered, and gives up when it is lied to about that.
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"
#include "worker/transport/memif_rings.h"

namespace tributary::fuzz {
namespace {

using worker::MemifRings;
namespace memif = worker::memif;

// The switch's view of the memory.
class HostileSide {
 public:
  explicit HostileSide(const MemifRings& rings)
      : bytes_(rings.memory_bytes()),
        memory_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, rings.memory_fd(), 0))) {
    FUZZ_CHECK(memory_ != MAP_FAILED);
  }
  ~HostileSide() { ::munmap(memory_, bytes_); }
  HostileSide(const HostileSide&) = delete;
  HostileSide& operator=(const HostileSide&) = delete;

  [[nodiscard]] memif::RingHeader& ring(bool to_server) const {
    return *reinterpret_cast<memif::RingHeader*>(memory_ + MemifRings::ring_offset(to_server));
  }
  [[nodiscard]] memif::Descriptor& descriptor(bool to_server, std::uint16_t index) const {
    return reinterpret_cast<memif::Descriptor*>(&ring(to_server) + 1)[index % MemifRings::kSize];
  }
  [[nodiscard]] std::byte* at(std::uint32_t offset) const { return memory_ + offset; }
  [[nodiscard]] bool holds(std::uint32_t offset, std::size_t count) const {
    return offset <= bytes_ && count <= bytes_ - offset;
  }

 private:
  std::size_t bytes_;
  std::byte* memory_;
};

class Play {
 public:
  explicit Play(Input& in) : in_(in), hostile_(rings_) { rings_.start(); }

  void run() {
    for (int n = 0; n < 200 && !in_.empty(); ++n) step();
  }

 private:
  void step();
  void honest_frame();
  void receive();
  void send();
  void vandalise();

  Input& in_;
  MemifRings rings_;
  HostileSide hostile_;
  bool lied_ = false;             // from here on frames are only safe, not right
  std::vector<std::byte> marks_;  // what honest frames in the ring begin with
};

// A frame as an honest switch writes it: into the next buffer that was offered.
void Play::honest_frame() {
  auto& ring = hostile_.ring(false);
  if (lied_ || ring.tail == ring.head) return;
  memif::Descriptor& d = hostile_.descriptor(false, ring.tail);
  FUZZ_CHECK(hostile_.holds(d.offset, d.length) && d.length == MemifRings::kBufferBytes);
  const auto mark = static_cast<std::byte>(in_.u8());
  *hostile_.at(d.offset) = mark;
  d.length = in_.between(1, MemifRings::kBufferBytes);
  marks_.push_back(mark);
  ring.tail = static_cast<std::uint16_t>(ring.tail + 1);
}

void Play::vandalise() {
  lied_ = true;
  const bool to_server = in_.flag();
  auto& ring = hostile_.ring(to_server);
  auto& d = hostile_.descriptor(to_server, in_.u16());
  switch (in_.below(8)) {
    case 0: ring.tail = in_.u16(); break;
    case 1: ring.tail = static_cast<std::uint16_t>(ring.tail + in_.below(8)); break;
    case 2: ring.head = in_.u16(); break;
    case 3: ring.flags = in_.u16(); break;
    case 4: d.length = in_.u32(); break;
    case 5: d.offset = in_.u32(); break;
    case 6: d.flags = in_.u16(); break;
    default: d.region = in_.u16(); break;
  }
}

void Play::receive() {
  const std::size_t offered = rings_.depth();
  std::size_t seen = 0;
  for (std::size_t most = in_.between(1, 70); most > 0; --most) {
    std::span<const std::byte> frame;
    const MemifRings::Rx got = rings_.rx_next(frame);
    if (got == MemifRings::Rx::none) break;
    FUZZ_CHECK(++seen <= offered && frame.size() <= MemifRings::kBufferBytes);
    // Read all of it, as a parser may.
    unsigned sum = 0;
    for (const std::byte b : frame) sum += std::to_integer<unsigned>(b);
    FUZZ_CHECK(sum <= 255u * MemifRings::kBufferBytes);
    if (lied_) continue;
    FUZZ_CHECK(got == MemifRings::Rx::frame && !frame.empty() && !marks_.empty());
    FUZZ_CHECK(frame.front() == marks_.front());
    marks_.erase(marks_.begin());
  }
  if (!lied_) FUZZ_CHECK(!rings_.broken());
  if (in_.below(4) != 0) rings_.rx_release();
}

void Play::send() {
  for (std::uint32_t n = in_.below(5); n > 0 && rings_.tx_room() > 0; --n) {
    const auto frame = rings_.tx_frame();
    FUZZ_CHECK(frame.size() == MemifRings::kMostTxBytes && rings_.tx_room() <= rings_.depth());
    std::memset(frame.data(), 0x11, 64);
    rings_.tx_commit(64);
  }
  rings_.tx_flush();
  auto& ring = hostile_.ring(true);
  // An honest switch takes what was written.
  if (!lied_ && in_.flag()) ring.tail = ring.head;
}

void Play::step() {
  switch (in_.below(8)) {
    case 0:
    case 1: return honest_frame();
    case 2:
    case 3: return receive();
    case 4: return send();
    case 5: return rings_.set_depth(in_.below(6000));
    case 6: return rings_.rx_interrupts(in_.flag());
    default: return vandalise();
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::Play(in).run();
  return 0;
}
