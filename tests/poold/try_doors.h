// Reads that a node has to refuse, by readers of two tenants.
#pragma once

#include <string>

// `one`, `other`: files of a pool, each with another `tenant`. Prints what was refused; returns
// false if anything was not, or if a tenant's own key reads nothing.
bool try_doors(const std::string& one, const std::string& other);
