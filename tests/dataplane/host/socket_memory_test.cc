#include "dataplane/host/socket_memory.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tributary::dataplane {
namespace {

// The calling thread's; -1: the kernel has none, or does not say.
int policy() {
  int mode = -1;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) == 0 ? mode : -1;
}

// The socket of a page that is touched now.
int socket_of_new_page() {
  const long bytes = sysconf(_SC_PAGESIZE);
  void* const page = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
  int socket = -1;
  syscall(SYS_get_mempolicy, &socket, nullptr, 0, page, MPOL_F_NODE | MPOL_F_ADDR);
  munmap(page, static_cast<std::size_t>(bytes));
  return socket;
}

TEST(SocketMemory, LastsAsLongAsItLives) {
  const int before = policy();
  {
    const SocketMemory here(0);
    if (!here.set()) {  // a kernel without sockets, or a container that forbids it
      EXPECT_EQ(policy(), before);
      return;
    }
    EXPECT_EQ(policy(), MPOL_PREFERRED);
    EXPECT_EQ(socket_of_new_page(), 0);
    {
      const SocketMemory anywhere(config::kAnySocket);
      EXPECT_FALSE(anywhere.set());
      EXPECT_EQ(policy(), MPOL_PREFERRED);
    }
    EXPECT_EQ(policy(), MPOL_PREFERRED);
  }
  EXPECT_EQ(policy(), before);
}

TEST(SocketMemory, ASocketThatIsNotThereChangesNothing) {
  const int before = policy();
  for (const int socket : {1022, 1023, 1 << 20, -7}) {
    const SocketMemory nowhere(socket);
    EXPECT_FALSE(nowhere.set()) << socket;
    EXPECT_EQ(policy(), before);
  }
}

}  // namespace
}  // namespace tributary::dataplane
