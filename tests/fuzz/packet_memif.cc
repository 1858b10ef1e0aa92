// A memif client as hostile as its input, before its switch's server: what it says until it is
// connected, and what it writes to its memory between any two bursts. It is refused, or connected;
// frames are whole and fit a packet buffer, or lie where all of them can be read; what is sent is
// taken once; and no packet buffer is lost.
#include <fcntl.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>

#include "dataplane/frame/frame_pool.h"
#include "dataplane/memif/lent_frame.h"
#include "dataplane/memif/memif_connection.h"
#include "dataplane/memif/memif_refusal.h"
#include "tests/dataplane/ring_switch.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

namespace memif = worker::memif;
using dataplane::kBurst;
using memif::Message;
using memif::MessageType;
using worker::FileDescriptor;

constexpr std::size_t kMemoryBytes = 0x10000;
constexpr std::uint32_t kRingBytes = 0x1000;
constexpr std::uint8_t kLog2Size = 5;
constexpr std::size_t kRoom = 2048;  // of a packet buffer

rte_mempool* packet_pool() {
  static const dataplane::FramePool pool([] {
    dataplane::start_test_eal();
    return dataplane::PoolSize{
        .buffers = 1023, .data_room = RTE_PKTMBUF_HEADROOM + kRoom, .unpadded = false};
  }());
  return pool.get();
}

class Memory {
 public:
  Memory()
      : fd_(::memfd_create("client", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
        event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    FUZZ_CHECK(::ftruncate(fd_.get(), kMemoryBytes) == 0);
    FUZZ_CHECK(::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    at_ = static_cast<std::byte*>(
        ::mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    FUZZ_CHECK(at_ != MAP_FAILED);
    for (std::uint32_t i = 0; i < 4; ++i) ring(i).cookie = memif::kRingCookie;
  }
  ~Memory() { ::munmap(at_, kMemoryBytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Rings lie where honest ones are: two to the server, two from it.
  [[nodiscard]] memif::RingHeader& ring(std::uint32_t number) const {
    return *reinterpret_cast<memif::RingHeader*>(at_ + std::size_t{number} * kRingBytes);
  }
  [[nodiscard]] memif::Descriptor& descriptor(std::uint32_t number, std::uint32_t index) const {
    return reinterpret_cast<memif::Descriptor*>(&ring(number) + 1)[index % (1u << kLog2Size)];
  }
  [[nodiscard]] int fd() const { return ::dup(fd_.get()); }
  [[nodiscard]] int event() const { return ::dup(event_.get()); }

 private:
  FileDescriptor fd_;
  FileDescriptor event_;
  std::byte* at_ = nullptr;
};

class Play {
 public:
  Play(Input& in, std::uint16_t queues) : in_(in), queues_(queues) {}

  void run() {
    if (!shake_hands()) return;
    try {
      connection_ = std::make_unique<dataplane::MemifConnection>(handshake_.take_offer());
    } catch (const dataplane::MemifRefusal&) {
      return;
    }
    for (int n = 0; n < 200 && !in_.empty(); ++n) step();
    connection_.reset();
    FUZZ_CHECK(rte_mempool_in_use_count(packet_pool()) == 0);
  }

 private:
  [[nodiscard]] Message honest(std::uint32_t step) const;
  bool shake_hands();
  void say(std::uint32_t step);
  void step();
  void receive(std::uint16_t queue);
  void transmit(std::uint16_t queue);
  void vandalise();
  void move_on();

  Input& in_;
  std::uint16_t queues_;
  Memory memory_;
  dataplane::MemifSettings settings_;
  dataplane::MemifHandshake handshake_{
      [this](std::uint32_t id) -> std::optional<dataplane::MemifDoor> {
        if (id > 1) return std::nullopt;
        return dataplane::MemifDoor{&settings_, queues_, id == 1, 0x0A4D00FE, 47000};
      }};
  std::unique_ptr<dataplane::MemifConnection> connection_;
  dataplane::MemifRxLosses losses_;
  Counter unsent_;
};

// INIT, ADD_REGION, a ring each way for each queue, CONNECT.
Message Play::honest(std::uint32_t step) const {
  Message m{};
  if (step == 0) {
    m.type = MessageType::init;
    m.init.version = memif::kVersion;
    // With one queue as the library has it: frames stay in its memory.
    if (queues_ == 1) memif::kLibraryName.copy(m.init.name.data(), m.init.name.size());
  } else if (step == 1) {
    m.type = MessageType::add_region;
    m.add_region.size_bytes = kMemoryBytes;
  } else if (step < 2 + 2u * queues_) {
    const std::uint32_t ring = step - 2;
    m.type = MessageType::add_ring;
    m.add_ring.flags = ring < queues_ ? memif::kAddRingClientToServer : std::uint16_t{0};
    m.add_ring.index = static_cast<std::uint16_t>(ring % queues_);
    m.add_ring.offset = ring * kRingBytes;
    m.add_ring.log2_size = kLog2Size;
  } else {
    m.type = MessageType::connect;
  }
  return m;
}

void Play::say(std::uint32_t step) {
  Message m = honest(step);
  const std::uint32_t kind = in_.below(16);
  if (kind == 15) m.type = static_cast<MessageType>(in_.below(10));
  if (kind >= 14) {
    const auto body = in_.bytes(in_.below(24));
    if (!body.empty()) std::memcpy(m.raw.data(), body.data(), body.size());
  }
  const bool region = m.type == MessageType::add_region;
  int passed = kind == 13 ? -1 : region ? memory_.fd() : memory_.event();
  if (kind == 12 && passed >= 0) {
    ::close(passed);
    passed = region ? memory_.event() : memory_.fd();
  }
  handshake_.take(m, FileDescriptor(passed));
}

bool Play::shake_hands() {
  for (std::uint32_t step = 0; step < 3 + 2u * queues_ && !handshake_.complete(); ++step) try {
      say(step);
    } catch (const dataplane::MemifRefusal& refusal) {
      FUZZ_CHECK(*refusal.what() != '\0');
      return false;
    }
  return handshake_.complete();
}

void Play::receive(std::uint16_t queue) {
  std::array<rte_mbuf*, kBurst> frames;
  const auto most = static_cast<std::uint16_t>(in_.between(1, kBurst));
  std::array<const std::byte*, kBurst> in_place{};
  dataplane::MemifRxRing& ring = connection_->rx(queue);
  const std::uint16_t count =
      ring.receive(packet_pool(), frames.data(), most, losses_, in_place.data());
  FUZZ_CHECK(count <= most);
  FUZZ_CHECK(connection_->unchecked() || !ring.has_lent());
  for (std::uint16_t i = 0; i < count; ++i) {
    FUZZ_CHECK(frames[i]->nb_segs == 1 && frames[i]->pkt_len == frames[i]->data_len);
    FUZZ_CHECK(frames[i]->pkt_len != 0 && frames[i]->pkt_len <= kRoom);
    if (in_place[i] != nullptr) {
      FUZZ_CHECK(ring.has_lent());
      dataplane::fetch_rest(*frames[i], in_place[i]);
    }
    rte_pktmbuf_free(frames[i]);
  }
  if (ring.has_lent()) ring.give_back();
}

void Play::transmit(std::uint16_t queue) {
  std::array<rte_mbuf*, kBurst> frames;
  const auto count = static_cast<std::uint16_t>(in_.between(1, 8));
  const std::vector<std::byte> bytes(in_.between(1, kRoom), std::byte{0x5A});
  const std::uint32_t segments = in_.between(1, 3);
  for (std::uint16_t i = 0; i < count; ++i)
    frames[i] = dataplane::make_frame(packet_pool(), bytes, segments);
  const std::uint64_t unsent = unsent_.get();
  const std::uint16_t taken = connection_->tx(queue).transmit(frames.data(), count, unsent_);
  FUZZ_CHECK(taken <= count && unsent_.get() - unsent <= taken);
  for (std::uint16_t i = taken; i < count; ++i) rte_pktmbuf_free(frames[i]);
}

void Play::vandalise() {
  const std::uint32_t number = in_.below(4);
  auto& ring = memory_.ring(number);
  auto& d = memory_.descriptor(number, in_.u8());
  switch (in_.below(8)) {
    case 0: ring.head = in_.u16(); break;
    case 1: ring.tail = in_.u16(); break;
    case 2: ring.flags = in_.u16(); break;
    case 3: d.length = in_.u32(); break;
    case 4: d.offset = in_.u32(); break;
    case 5: d.flags = in_.u16(); break;
    case 6: d.region = in_.u16(); break;
    default: ring.cookie = in_.u32(); break;
  }
}

// Some descriptors more, of a shape that is often right.
void Play::move_on() {
  const std::uint32_t number = in_.below(4);
  const std::atomic_ref head(memory_.ring(number).head);
  for (std::uint32_t n = in_.between(1, 40); n > 0; --n) {
    auto& d = memory_.descriptor(number, head.load());
    d = {static_cast<std::uint16_t>(in_.below(8) == 0), 0, in_.below(2100),
         0x4000 + in_.below(0xC000), 0};
    head.fetch_add(1);
  }
}

void Play::step() {
  const auto queue = static_cast<std::uint16_t>(in_.below(queues_));
  switch (in_.below(8)) {
    case 0:
    case 1: return receive(queue);
    case 2:
    case 3: return transmit(queue);
    case 4:
    case 5: return move_on();
    default: return vandalise();
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  packet_pool();
  Input in(data, size);
  const auto queues = static_cast<std::uint16_t>(in.between(1, 2));
  Play(in, queues).run();
  return 0;
}
