#include "tests/dataplane/vhost_frontend.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/memfd.h>
#include <linux/virtio_config.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace tributary::dataplane {
namespace {

// https://qemu-project.gitlab.io/qemu/interop/vhost-user.html
enum Request : std::uint32_t {
  kSetFeatures = 2,
  kSetOwner = 3,
  kSetMemTable = 5,
  kSetVringNum = 8,
  kSetVringAddr = 9,
  kSetVringBase = 10,
  kSetVringKick = 12,
  kSetVringCall = 13,
};
struct Header {
  std::uint32_t request;
  std::uint32_t flags;
  std::uint32_t bytes;
};
struct MemoryTable {
  std::uint32_t regions;
  std::uint32_t padding;
  std::uint64_t guest_address;
  std::uint64_t bytes;
  std::uint64_t user_address;
  std::uint64_t offset;
};
struct RingState {
  std::uint32_t ring;
  std::uint32_t value;
};
struct RingAddresses {
  std::uint32_t ring;
  std::uint32_t flags;
  std::uint64_t descriptors;
  std::uint64_t used;
  std::uint64_t available;
  std::uint64_t log;
};
struct Descriptor {
  std::uint64_t address;
  std::uint32_t bytes;
  std::uint16_t flags;
  std::uint16_t next;
};
constexpr std::uint16_t kToBeWritten = 2;
constexpr std::size_t kFrameHeader = 12;  // before each frame

constexpr std::uint32_t kToGuest = 0;
constexpr std::uint32_t kToSwitch = 1;
constexpr std::uint64_t kGuest = std::uint64_t{1} << 30;  // where its memory is, for itself
constexpr std::uint64_t kUser = std::uint64_t{1} << 40;   // and for who runs it
// Layout of a ring.
constexpr std::size_t kAvailable = 0x1000;
constexpr std::size_t kUsed = 0x2000;
constexpr std::size_t kRing = 0x4000;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// None if there is no such memory.
worker::FileDescriptor make_memory(std::size_t bytes, unsigned kind) {
  worker::FileDescriptor memory(::memfd_create("guest", MFD_CLOEXEC | kind));
  const auto size = static_cast<off_t>(bytes);
  if (::ftruncate(memory.get(), size) == 0 && ::fallocate(memory.get(), 0, 0, size) == 0)
    return memory;
  return {};
}

}  // namespace

VhostFrontend::VhostFrontend(bool huge)
    : ring_bytes_(huge ? kHugePage : 0x10000),
      bytes_(ring_bytes_ + (huge ? kHugePage : 2 * kSlots * kFrameBytes)) {
  if (huge) memory_ = make_memory(bytes_, MFD_HUGETLB | MFD_HUGE_2MB);
  if (!memory_) memory_ = make_memory(bytes_, 0);
  EXPECT_TRUE(memory_);
  for (std::uint16_t slot = 0; slot < kSlots; ++slot) describe(kToGuest, slot, kFrameBytes, true);
  offer(kToGuest, kSlots);
}

void VhostFrontend::truncate(std::size_t kept) const {
  ASSERT_EQ(::ftruncate(memory_.get(), static_cast<off_t>(kept)), 0);
}

// Huge pages know no pwrite().
void VhostFrontend::write(std::size_t at, std::span<const std::byte> bytes) const {
  void* const all = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  ASSERT_NE(all, MAP_FAILED);
  std::memcpy(static_cast<std::byte*>(all) + at, bytes.data(), bytes.size());
  ::munmap(all, bytes_);
}

void VhostFrontend::describe(std::size_t ring, std::uint16_t slot, std::uint32_t bytes,
                             bool to_guest) const {
  const std::size_t buffer = ring_bytes_ + (ring * kSlots + slot) * kFrameBytes;
  const Descriptor descriptor{.address = kGuest + buffer,
                              .bytes = bytes,
                              .flags = to_guest ? kToBeWritten : std::uint16_t{0},
                              .next = 0};
  put(ring * kRing + slot * sizeof descriptor, descriptor);
  put(ring * kRing + kAvailable + (2U + slot) * sizeof slot, slot);
}

void VhostFrontend::offer(std::size_t ring, std::uint16_t slots) const {
  put(ring * kRing + kAvailable + sizeof slots, slots);
}

void VhostFrontend::send_frame(std::size_t bytes) {
  std::vector<std::byte> frame(kFrameHeader + bytes);
  std::fill(frame.begin() + kFrameHeader, frame.end(), std::byte{2});
  write(ring_bytes_ + (kToSwitch * kSlots + sent_) * kFrameBytes, frame);
  describe(kToSwitch, sent_, static_cast<std::uint32_t>(frame.size()), false);
  offer(kToSwitch, ++sent_);
}

void VhostFrontend::connect(const std::string& socket) {
  socket_ = worker::FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  const std::uint64_t features = std::uint64_t{1} << VIRTIO_F_VERSION_1;
  say(kSetOwner, nullptr, 0);
  say(kSetFeatures, &features, sizeof features);
  share_memory();
  start_ring(kToGuest);
  start_ring(kToSwitch);
}

void VhostFrontend::share_memory() const {
  const MemoryTable table{.regions = 1,
                          .padding = 0,
                          .guest_address = kGuest,
                          .bytes = bytes_,
                          .user_address = kUser,
                          .offset = 0};
  say(kSetMemTable, &table, sizeof table, memory_.get());
}

void VhostFrontend::start_ring(std::uint32_t ring) const {
  const RingState slots{ring, kSlots};
  const RingState base{ring, 0};
  const std::uint64_t at = kUser + ring * kRing;
  const RingAddresses addresses{.ring = ring,
                                .flags = 0,
                                .descriptors = at,
                                .used = at + kUsed,
                                .available = at + kAvailable,
                                .log = 0};
  const std::uint64_t which = ring;
  const worker::FileDescriptor event(::eventfd(0, EFD_CLOEXEC));
  say(kSetVringNum, &slots, sizeof slots);
  say(kSetVringBase, &base, sizeof base);
  say(kSetVringAddr, &addresses, sizeof addresses);
  say(kSetVringCall, &which, sizeof which, event.get());
  say(kSetVringKick, &which, sizeof which, event.get());
}

void VhostFrontend::say(std::uint32_t request, const void* payload, std::uint32_t bytes,
                        int fd) const {
  Header header{.request = request, .flags = 1, .bytes = bytes};
  std::array<iovec, 2> parts = {iovec{&header, sizeof header},
                                iovec{const_cast<void*>(payload), bytes}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  ASSERT_EQ(::sendmsg(socket_.get(), &message, MSG_NOSIGNAL),
            static_cast<ssize_t>(sizeof header + bytes));
}

bool VhostFrontend::left() const {
  char none = 0;
  return ::recv(socket_.get(), &none, 1, MSG_DONTWAIT) == 0;
}

}  // namespace tributary::dataplane
