// The rules that can match one kind of frame, as a trie of rte_acl.
#pragma once

#include <cstdint>
#include <span>

#include "config/model/switch_config.h"
#include "dataplane/bridge/acl_key.h"

struct rte_acl_ctx;

namespace tributary::dataplane {

// nullptr: no rule can match. Throws std::runtime_error.
rte_acl_ctx* build_acl_table(const config::SwitchConfig& config, AclKind kind);
void free_acl_table(rte_acl_ctx* table);

// For each key, which is an AclKey: the place of the first rule that matches plus 1, or 0.
void search_acl_table(const rte_acl_ctx* table, std::span<const std::uint8_t*> keys,
                      std::span<std::uint32_t> rules);

}  // namespace tributary::dataplane
