// Instant and Duration: the only two notions of time in the project.
//
// Engines are pure: they never read a clock. The loop that drives them reads one
// clock once per turn and passes `now` down. Both types count nanoseconds in a
// signed 64-bit integer (292 years); Instant's origin is whatever clock the caller
// uses, so two Instants compare only when they come from the same clock.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace tributary {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration ns(std::int64_t v) { return Duration(v); }
  static constexpr Duration us(std::int64_t v) { return Duration(v * 1'000); }
  static constexpr Duration ms(std::int64_t v) { return Duration(v * 1'000'000); }
  static constexpr Duration seconds(std::int64_t v) { return Duration(v * 1'000'000'000); }
  static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  [[nodiscard]] constexpr std::int64_t to_ns() const { return ns_; }
  [[nodiscard]] constexpr double to_seconds() const { return static_cast<double>(ns_) * 1e-9; }

  constexpr auto operator<=>(const Duration&) const = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ns_ + b.ns_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ns_ - b.ns_); }
  friend constexpr Duration operator*(Duration a, std::int64_t k) { return Duration(a.ns_ * k); }
  friend constexpr Duration operator/(Duration a, std::int64_t k) { return Duration(a.ns_ / k); }

 private:
  explicit constexpr Duration(std::int64_t v) : ns_(v) {}
  std::int64_t ns_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant from_ns(std::int64_t v) { return Instant(v); }
  static constexpr Instant max() { return Instant(std::numeric_limits<std::int64_t>::max()); }

  [[nodiscard]] constexpr std::int64_t to_ns() const { return ns_; }

  constexpr auto operator<=>(const Instant&) const = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return Instant(t.ns_ + d.to_ns()); }
  friend constexpr Instant operator-(Instant t, Duration d) { return Instant(t.ns_ - d.to_ns()); }
  friend constexpr Duration operator-(Instant a, Instant b) { return Duration::ns(a.ns_ - b.ns_); }

 private:
  explicit constexpr Instant(std::int64_t v) : ns_(v) {}
  std::int64_t ns_ = 0;
};

}  // namespace tributary
