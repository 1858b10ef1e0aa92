/* An allreduce by RDMA writes alone: rdma-core, and nothing of Tributary's (docs/rdma-writes.md).
 *
 *   cc -O2 verbs_allreduce.c -lrdmacm -libverbs -o verbs_allreduce
 *   ./verbs_allreduce 10.77.0.254 47000 JOB RANK RANKS BYTES OPS [uc]
 *
 * Each rank writes its integers into the switch's window; the sums come by RDMA write into the ring
 * that it has registered. An immediate value says which op is complete, or on UC which chunk. */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0x54524232, INT32 = 3, SUM = 1, MOST = 16 /* ops in the window */ };
enum { RECEIVES = 4096 };                /* on UC one for each chunk of the ring: at most these */
enum { KEY = 1, HIGH, LOW, OPS, CHUNK }; /* REP's private data, in words, behind the magic */

static int uc;
static struct rdma_cm_id* id;
static struct ibv_comp_channel* completions;
static struct ibv_cq* cq;
static uint32_t job, rank, ranks, bytes, ops;
static char *data, *ring; /* MOST ops, and twice as many results */
static struct ibv_mr *data_mr, *ring_mr;
static uint32_t grant[6];
static struct rdma_cm_event* end; /* of the connection: on UC it may be all that comes */

static void check(int ok, const char* what) {
  if (ok) return;
  perror(what);
  exit(1);
}

static void post_receive(void) { /* an immediate value takes one; no data goes there */
  struct ibv_recv_wr receive = {0}, *bad;
  check(ibv_post_recv(id->qp, &receive, &bad) == 0, "ibv_post_recv");
}

static void prepare(const char* address, const char* port) {
  struct rdma_addrinfo how = {.ai_port_space = uc ? RDMA_PS_IB : RDMA_PS_TCP}, *to;
  how.ai_qp_type = uc ? IBV_QPT_UC : IBV_QPT_RC;
  check(rdma_getaddrinfo(address, port, &how, &to) == 0, "rdma_getaddrinfo");
  check(rdma_create_ep(&id, to, NULL, NULL) == 0, "rdma_create_ep");
  check((completions = ibv_create_comp_channel(id->verbs)) != NULL, "ibv_create_comp_channel");
  check((cq = ibv_create_cq(id->verbs, RECEIVES + 3 * MOST, NULL, completions, 0)) != NULL,
        "ibv_create_cq");
  struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .qp_type = how.ai_qp_type};
  attr.cap.max_send_wr = 3 * MOST; /* an acknowledgement may come after the result */
  attr.cap.max_recv_wr = RECEIVES;
  attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
  check(rdma_create_qp(id, NULL, &attr) == 0, "rdma_create_qp");
  check((data = calloc(MOST, bytes)) != NULL && (ring = calloc(2 * MOST, bytes)) != NULL, "memory");
  data_mr = ibv_reg_mr(id->pd, data, (size_t)MOST * bytes, IBV_ACCESS_LOCAL_WRITE);
  ring_mr = ibv_reg_mr(id->pd, ring, (size_t)2 * MOST * bytes,
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  check(data_mr != NULL && ring_mr != NULL, "ibv_reg_mr");
}

static void join(void) {
  const uint32_t high = (uint32_t)((uintptr_t)ring >> 32), low = (uint32_t)(uintptr_t)ring;
  const uint32_t how = INT32 << 24 | SUM << 16 | MOST;
  uint32_t request[] = {MAGIC, job, rank, high, low, ring_mr->rkey, bytes, how};
  for (int i = 0; i < 8; ++i) request[i] = htonl(request[i]);
  struct rdma_conn_param param = {.private_data = request, .private_data_len = sizeof request};
  param.retry_count = param.rnr_retry_count = 7;
  const int failed = rdma_connect(id, &param);
  check(id->event != NULL, "rdma_connect");
  const struct rdma_conn_param* conn = &id->event->param.conn;
  if (failed)
    fprintf(stderr, "%s, status %d: %.*s\n", rdma_event_str(id->event->event), id->event->status,
            conn->private_data ? conn->private_data_len : 0, (const char*)conn->private_data);
  check(!failed, "rdma_connect");
  memcpy(grant, conn->private_data, sizeof grant);
  for (int i = 0; i < 6; ++i) grant[i] = ntohl(grant[i]);
  check(grant[0] == MAGIC, "the switch's private data");
}

/* Rank r's element i in op k. */
static int32_t value(uint32_t r, uint32_t k, uint32_t i) {
  return (int32_t)(i * 3 + k * 7 + r);
}

static void write_op(uint32_t op, uint32_t place) {
  int32_t* const mine = (int32_t*)(data + (size_t)place * bytes);
  for (uint32_t i = 0; i < bytes / 4; ++i) mine[i] = value(rank, op, i);
  struct ibv_sge part = {(uintptr_t)mine, bytes, data_mr->lkey};
  struct ibv_send_wr write = {.sg_list = &part, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;
  write.send_flags = IBV_SEND_SIGNALED;
  write.wr.rdma.remote_addr = ((uint64_t)grant[HIGH] << 32 | grant[LOW]) + (uint64_t)place * bytes;
  write.wr.rdma.rkey = grant[KEY];
  check(ibv_post_send(id->qp, &write, &bad) == 0, "ibv_post_send");
}

static struct ibv_wc next_completion(void) {
  struct ibv_wc wc;
  struct ibv_cq* which;
  void* context;
  while (ibv_poll_cq(cq, 1, &wc) == 0) { /* armed, and looked at once more, before it sleeps */
    check(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
    if (ibv_poll_cq(cq, 1, &wc) != 0) break;
    check(end == NULL, end ? rdma_event_str(end->event) : "");
    struct pollfd both[] = {{completions->fd, POLLIN, 0}, {id->channel->fd, POLLIN, 0}};
    check(poll(both, 2, -1) > 0, "poll");
    if (both[1].revents != 0) check(rdma_get_cm_event(id->channel, &end) == 0, "rdma_get_cm_event");
    if (both[0].revents == 0) continue;
    check(ibv_get_cq_event(completions, &which, &context) == 0, "ibv_get_cq_event");
    ibv_ack_cq_events(which, 1);
  }
  if (wc.status != IBV_WC_SUCCESS)
    fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  check(wc.status == IBV_WC_SUCCESS, "completion");
  return wc;
}

int main(int argc, char** argv) {
  check(argc == 8 || argc == 9,
        "usage: verbs_allreduce ADDRESS PORT JOB RANK RANKS BYTES OPS [uc]");
  uc = argc == 9 && strcmp(argv[8], "uc") == 0;
  uint32_t* const numbers[] = {&job, &rank, &ranks, &bytes, &ops};
  for (int i = 0; i < 5; ++i) *numbers[i] = (uint32_t)atoi(argv[3 + i]);
  prepare(argv[1], argv[2]);
  join();
  const uint32_t places = grant[OPS], chunks = (bytes + grant[CHUNK] - 1) / grant[CHUNK];
  check(!uc || 2 * places * chunks <= RECEIVES, "receives");
  for (uint32_t i = 0; i < 2 * places * (uc ? chunks : 1); ++i) post_receive();
  uint32_t complete[2 * MOST] = {0}, came[2 * MOST] = {0}, *seen = calloc(RECEIVES, 4);
  for (uint32_t begun = 0, done = 0, may = !uc; done < ops;) { /* all before `done` are complete */
    for (; may && begun < ops && begun - done < places; ++begun) write_op(begun, begun % places);
    const struct ibv_wc wc = next_completion();
    if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM) continue; /* the switch has taken a write */
    const uint32_t what = ntohl(wc.imm_data), at = (uc ? what / chunks : what) % (2 * places);
    const uint32_t op = done + (at + 2 * places - done % (2 * places)) % (2 * places);
    post_receive();
    may = 1; /* on UC the first value, of all ones, says that all ranks are there */
    if (uc && (what == UINT32_MAX || op >= begun || seen[what] == op + 1)) continue;
    if (uc && (seen[what] = op + 1, ++came[at] % chunks) != 0) continue;
    const int32_t* const sum = (const int32_t*)(ring + (size_t)at * bytes);
    for (uint32_t i = 0; i < bytes / 4; ++i) {
      int32_t expected = 0;
      for (uint32_t r = 0; r < ranks; ++r) expected += value(r, op, i);
      check(sum[i] == expected, "sum");
    }
    for (complete[at] = 1; complete[done % (2 * places)]; ++done) complete[done % (2 * places)] = 0;
  }
  printf("verbs: %u allreduces of %u bytes are right\n", ops, bytes);
  rdma_disconnect(id);
  return 0;
}
