/* What operators ask of a pool's nodes. libtributary-pool is loaded for it, so that the command
 * `tributary` links no libfabric. Requests and replies are JSON in UTF-8. Any thread may call. */
#ifndef TRIBUTARY_POOL_API_OPERATE_H
#define TRIBUTARY_POOL_API_OPERATE_H

#ifdef __cplusplus
extern "C" {
#endif

/* request: {"config": "FILE", "do": WHAT, ...}, where WHAT is
 *   "status", or "fill", "pin", "unpin", "evict" or "verify" with "first" and "count": asks every
 * node. The reply is a row a node: its answer, or {"node", "state": why there is none}; "manifest":
 * looks through the store and writes the manifest. Reply: {"manifest", "records"}; "configure" with
 * "amount" and "target", empty where nothing changes. Reply: the two. Returns {"ok": true, "reply":
 * ...}, or {"ok": false, "code": "USAGE" or "FAILED", "error": "..."}. Free it with
 * tributary_pool_free_reply(). NULL: no memory.
 */
char* tributary_pool_operate(const char* request);

void tributary_pool_free_reply(char* reply);

#ifdef __cplusplus
}
#endif
#endif
