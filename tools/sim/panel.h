// One diagram of a plot: axes with ticks, and curves, points or bars in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/sim/svg.h"

namespace tributary::simtool {

// Colours that people with any kind of colour vision tell apart (Okabe and Ito, 2008).
const char* colour_of(std::size_t series);

struct Axis {
  double least = 0;
  double most = 1;
  bool logarithmic = false;
  std::function<std::string(double)> label;
  double unit = 1;  // ticks are round in it

  // 0 at least, 1 at most.
  [[nodiscard]] double position(double value) const;
  // Round values within the range: at most about eight.
  [[nodiscard]] std::vector<double> ticks() const;
};

class Panel {
 public:
  // The diagram's own area is (left, top) to (left + width, top + height); ticks stand outside.
  Panel(Svg& svg, double left, double top, double width, double height, const std::string& title);

  void axes(const Axis& x, const Axis& y);
  void curve(const std::vector<Svg::Point>& values, std::size_t series, bool dots = false);
  // `share` of the width, from its left edge at `place`; height in the y axis' units.
  void bar(double place, double share, double value, std::size_t series, const std::string& label);
  void name_series(std::size_t row, std::size_t series, const std::string& name);

 private:
  [[nodiscard]] Svg::Point at(double x, double y) const;

  Svg& svg_;
  double left_, top_, width_, height_;
  Axis x_, y_;
};

}  // namespace tributary::simtool
