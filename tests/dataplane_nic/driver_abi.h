// The structures that a driver and DPDK share, as far as a fake network card needs them. Debian's
// packages have DPDK's headers for applications alone; these are the same structures as those of
// ethdev_driver.h, dev_driver.h, bus_vdev_driver.h and rte_flow_driver.h of DPDK 22.11, member by
// member. Functions that no test fills or calls are places without a type.
//
// Another DPDK has other ones: then this is to be written anew, or the tests to be left out.
#pragma once

#include <pthread.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_version.h>

#include <cstdint>

static_assert(RTE_VER_YEAR == 22 && RTE_VER_MONTH == 11, "structures below are of DPDK 22.11");

// NOLINTBEGIN(misc-non-private-member-variables-in-classes)
extern "C" {

struct rte_driver {
  RTE_TAILQ_ENTRY(rte_driver) next;
  const char* name;
  const char* alias;
};

struct rte_device {
  RTE_TAILQ_ENTRY(rte_device) next;
  const char* name;
  const char* bus_info;
  const rte_driver* driver;
  const struct rte_bus* bus;
  int numa_node;
  struct rte_devargs* devargs;
};

struct rte_vdev_device {
  RTE_TAILQ_ENTRY(rte_vdev_device) next;
  rte_device device;
};

struct rte_vdev_driver {
  RTE_TAILQ_ENTRY(rte_vdev_driver) next;
  rte_driver driver;
  int (*probe)(rte_vdev_device* device);
  int (*remove)(rte_vdev_device* device);
  int (*dma_map)(rte_vdev_device* device, void* address, std::uint64_t iova, std::size_t bytes);
  int (*dma_unmap)(rte_vdev_device* device, void* address, std::uint64_t iova, std::size_t bytes);
  std::uint32_t drv_flags;
};
void rte_vdev_register(rte_vdev_driver* driver);
void rte_vdev_unregister(rte_vdev_driver* driver);

struct rte_eth_dev;
using Unused = void (*)();

struct rte_flow_ops {
  int (*validate)(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
                  const rte_flow_action actions[], rte_flow_error* error);
  rte_flow* (*create)(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
                      const rte_flow_action actions[], rte_flow_error* error);
  int (*destroy)(rte_eth_dev* dev, rte_flow* flow, rte_flow_error* error);
  int (*flush)(rte_eth_dev* dev, rte_flow_error* error);
  Unused others[64];  // it has fewer
};

struct eth_dev_ops {
  int (*dev_configure)(rte_eth_dev* dev);
  int (*dev_start)(rte_eth_dev* dev);
  int (*dev_stop)(rte_eth_dev* dev);
  Unused dev_set_link_up_down[2];
  int (*dev_close)(rte_eth_dev* dev);
  Unused dev_reset;
  int (*link_update)(rte_eth_dev* dev, int wait_to_complete);
  Unused is_removed;
  int (*promiscuous_enable)(rte_eth_dev* dev);
  int (*promiscuous_disable)(rte_eth_dev* dev);
  int (*allmulticast_enable)(rte_eth_dev* dev);
  int (*allmulticast_disable)(rte_eth_dev* dev);
  Unused mac_addr_remove;
  Unused mac_addr_add;
  Unused mac_addr_set;
  Unused set_mc_addr_list;
  Unused mtu_set;
  int (*stats_get)(rte_eth_dev* dev, rte_eth_stats* stats);
  Unused stats_reset_and_xstats[4];
  Unused queue_stats_mapping_set;
  int (*dev_infos_get)(rte_eth_dev* dev, rte_eth_dev_info* info);
  Unused queue_infos_and_burst_modes[4];
  Unused fw_version_get;
  Unused ptypes[2];
  Unused vlan[5];
  Unused queue_start_stop[4];
  int (*rx_queue_setup)(rte_eth_dev* dev, std::uint16_t queue, std::uint16_t descriptors,
                        unsigned socket, const rte_eth_rxconf* conf, rte_mempool* pool);
  void (*rx_queue_release)(rte_eth_dev* dev, std::uint16_t queue);
  Unused rx_queue_intr[2];
  int (*tx_queue_setup)(rte_eth_dev* dev, std::uint16_t queue, std::uint16_t descriptors,
                        unsigned socket, const rte_eth_txconf* conf);
  void (*tx_queue_release)(rte_eth_dev* dev, std::uint16_t queue);
  Unused tx_done_cleanup;
  Unused led[2];
  Unused flow_control[5];
  Unused unicast_hash_tables[2];
  Unused udp_tunnel_ports[2];
  Unused set_queue_rate_limit;
  int (*rss_hash_update)(rte_eth_dev* dev, rte_eth_rss_conf* conf);
  Unused rss_hash_conf_get;
  Unused reta[2];
  Unused registers_eeprom_and_module[6];
  int (*flow_ops_get)(rte_eth_dev* dev, const rte_flow_ops** ops);
  Unused others[64];  // it has fewer
};

struct rte_eth_dev_data {
  char name[RTE_ETH_NAME_MAX_LEN];
  void** rx_queues;
  void** tx_queues;
  std::uint16_t nb_rx_queues;
  std::uint16_t nb_tx_queues;
  rte_eth_dev_sriov sriov;
  void* dev_private;
  rte_eth_link dev_link;
  rte_eth_conf dev_conf;
  std::uint16_t mtu;
  std::uint32_t min_rx_buf_size;
  std::uint64_t rx_mbuf_alloc_failed;
  rte_ether_addr* mac_addrs;
  std::uint64_t mac_pool_sel[RTE_ETH_NUM_RECEIVE_MAC_ADDR];
  rte_ether_addr* hash_mac_addrs;
  std::uint16_t port_id;
  std::uint8_t promiscuous : 1, scattered_rx : 1, all_multicast : 1, dev_started : 1, lro : 1,
      dev_configured : 1, flow_configured : 1;
  std::uint8_t rx_queue_state[RTE_MAX_QUEUES_PER_PORT];
  std::uint8_t tx_queue_state[RTE_MAX_QUEUES_PER_PORT];
  std::uint32_t dev_flags;
  int numa_node;
  // More follows that no driver need know.
};

struct __rte_cache_aligned rte_eth_dev {
  std::uint16_t (*rx_pkt_burst)(void* queue, rte_mbuf** frames, std::uint16_t count);
  std::uint16_t (*tx_pkt_burst)(void* queue, rte_mbuf** frames, std::uint16_t count);
  Unused tx_pkt_prepare;
  Unused rx_queue_count;
  Unused rx_descriptor_status;
  Unused tx_descriptor_status;
  rte_eth_dev_data* data;
  void* process_private;
  const eth_dev_ops* dev_ops;
  rte_device* device;
  // More follows that no driver need know.
};

rte_eth_dev* rte_eth_dev_allocate(const char* name);
void rte_eth_dev_probing_finish(rte_eth_dev* dev);
int rte_eth_dev_release_port(rte_eth_dev* dev);
rte_eth_dev* rte_eth_dev_allocated(const char* name);
}
// NOLINTEND(misc-non-private-member-variables-in-classes)
