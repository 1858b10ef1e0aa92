// Tenants: who may have how much of the cluster at once, and whose turn it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manager/admission/amount.h"

namespace tributary::manager {

// Limits on the sum over a tenant's running jobs; absent: no limit.
struct Quota {
  std::optional<std::uint64_t> jobs = {};
  std::optional<std::uint64_t> workers = {};
  std::optional<std::uint64_t> slots = {};  // on all switches together
  std::optional<std::uint64_t> bytes = {};  // aggregation memory, on all switches together
};

struct Tenant {
  std::string name;
  std::uint32_t weight = 1;  // of fair share: twice the weight, twice the share
  Quota quota = {};
};

// The share of its tenant's quota that one job uses, or all of them together.
struct Usage {
  std::uint64_t jobs = 0;
  std::uint64_t workers = 0;
  Amount amount;  // `jobs` of it counts (job, switch) pairs

  bool operator==(const Usage&) const = default;
  Usage& operator+=(const Usage& other);
  Usage& operator-=(const Usage& other);
};

// The usage of one job, whose needs are by switch.
Usage usage_of(std::uint64_t workers, const std::map<std::string, Amount>& needs);

class Tenants {
 public:
  explicit Tenants(std::vector<Tenant> tenants);

  [[nodiscard]] bool knows(const std::string& name) const;
  // "vision, speech": for messages.
  [[nodiscard]] std::string names() const;
  // The limits that `more` on top of `used` would exceed, with figures; empty: none.
  [[nodiscard]] std::string excess(const std::string& name, const Usage& used,
                                   const Usage& more) const;
  // The larger fraction of `all` that `used` is, over the weight: the tenant with the least is
  // next.
  [[nodiscard]] double share(const std::string& name, const Usage& used, const Amount& all) const;
  [[nodiscard]] const std::vector<Tenant>& all() const { return tenants_; }

 private:
  [[nodiscard]] const Tenant* find(const std::string& name) const;

  std::vector<Tenant> tenants_;
};

}  // namespace tributary::manager
