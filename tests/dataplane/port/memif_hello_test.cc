// Without the sendmsg() of that file, DPDK's driver ends the process here.
#include "dataplane/port/memif_hello.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <semaphore>
#include <string>
#include <thread>

#include "dataplane/host/interrupt_thread.h"
#include "dataplane/port/port.h"
#include "tests/dataplane/ring_switch.h"
#include "worker/transport/memif_control.h"

namespace tributary::dataplane {
namespace {

using worker::MemifControl;
using worker::MemifRings;

// As long as it lives, nobody is accepted.
class BusyInterruptThread {
 public:
  BusyInterruptThread() { begun_.acquire(); }
  ~BusyInterruptThread() {
    end_.release();
    thread_.join();
  }
  BusyInterruptThread(const BusyInterruptThread&) = delete;
  BusyInterruptThread& operator=(const BusyInterruptThread&) = delete;

 private:
  std::binary_semaphore begun_{0};
  std::binary_semaphore end_{0};
  std::thread thread_{[this] {
    on_interrupt_thread([this] {
      begun_.release();
      end_.acquire();
    });
  }};
};

TEST(MemifHello, C1_AClientMayBeGoneBeforeIt) {
  RingSwitch sw{test_config(1)};
  const std::string socket = "tributary-hello-" + std::to_string(::getpid());
  Port port{{"m", "net_memif_hello,role=server,id=0,rsize=10,bsize=2048,socket=" + socket, 1500}};
  port.set_up(std::array{sw.pool()});
  const std::uint64_t before = memif_clients_gone().get();
  const auto gone = [&] { return memif_clients_gone().get() - before; };
  for (std::uint64_t i = 1; i <= 8; ++i) {
    {
      const BusyInterruptThread busy;
      MemifRings rings;
      EXPECT_THROW(MemifControl(socket, 0, rings, Duration::ms(1)), worker::MemifConnectError);
    }
    while (gone() < i) sched_yield();  // few can wait to be accepted
  }
  MemifRings rings;
  const MemifControl staying(socket, 0, rings, Duration::seconds(60));
  while (!port.poll_link()) sched_yield();
  EXPECT_EQ(gone(), 8u);
}

}  // namespace
}  // namespace tributary::dataplane
