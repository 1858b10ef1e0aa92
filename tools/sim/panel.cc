#include "tools/sim/panel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tributary::simtool {
namespace {

constexpr const char* kAxisColour = "#777";
constexpr const char* kGridColour = "#e4e4e4";
constexpr double kMostTicks = 8;

}  // namespace

const char* colour_of(std::size_t series) {
  constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#000000"};
  return kColours[series % kColours.size()];
}

double Axis::position(double value) const {
  if (logarithmic) return std::log(value / least) / std::log(most / least);
  return (value - least) / (most - least);
}

std::vector<double> Axis::ticks() const {
  std::vector<double> all;
  if (logarithmic) {
    const double decades = std::log10(most / least);
    for (double decade = std::pow(10, std::floor(std::log10(least))); decade <= most * 1.0001;
         decade *= 10)
      for (const double digit : {1.0, 2.0, 5.0}) {
        if (decades > kMostTicks / 3 && digit > 1) continue;
        const double tick = decade * digit;
        if (tick >= least * 0.9999 && tick <= most * 1.0001) all.push_back(tick);
      }
    return all;
  }
  const double rough = (most - least) / unit / kMostTicks;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  double step = decade * 10 * unit;
  for (const double digit : {5.0, 2.0, 1.0})
    if (decade * digit >= rough) step = decade * digit * unit;
  for (double tick = std::ceil(least / step) * step; tick <= most * 1.0001; tick += step)
    all.push_back(tick);
  return all;
}

Panel::Panel(Svg& svg, double left, double top, double width, double height,
             const std::string& title)
    : svg_(svg), left_(left), top_(top), width_(width), height_(height) {
  svg_.text({left, top - 10}, title, Anchor::start, 14, "#000");
}

Svg::Point Panel::at(double x, double y) const {
  return {left_ + std::clamp(x_.position(x), 0.0, 1.0) * width_,
          top_ + (1 - std::clamp(y_.position(y), 0.0, 1.0)) * height_};
}

void Panel::axes(const Axis& x, const Axis& y) {
  x_ = x;
  y_ = y;
  if (x.label)
    for (const double tick : x.ticks()) {
      const double place = at(tick, y.least).first;
      svg_.line({place, top_}, {place, top_ + height_}, kGridColour);
      svg_.text({place, top_ + height_ + 16}, x.label(tick), Anchor::middle, 11);
    }
  for (const double tick : y.ticks()) {
    const double place = at(x.least, tick).second;
    svg_.line({left_, place}, {left_ + width_, place}, kGridColour);
    svg_.text({left_ - 6, place + 4}, y.label(tick), Anchor::end, 11);
  }
  svg_.line({left_, top_}, {left_, top_ + height_}, kAxisColour);
  svg_.line({left_, top_ + height_}, {left_ + width_, top_ + height_}, kAxisColour);
}

void Panel::curve(const std::vector<Svg::Point>& values, std::size_t series, bool dots) {
  std::vector<Svg::Point> points;
  for (const auto& [x, y] : values) points.push_back(at(x, y));
  svg_.polyline(points, colour_of(series));
  if (!dots) return;
  for (const auto& [x, y] : points) svg_.box({x - 3, y - 3}, 6, 6, colour_of(series));
}

void Panel::bar(double place, double share, double value, std::size_t series,
                const std::string& label) {
  const double top = at(0, value).second;
  svg_.box({left_ + place * width_, top}, share * width_, top_ + height_ - top, colour_of(series));
  svg_.text({left_ + (place + share / 2) * width_, top - 4}, label, Anchor::middle, 10);
}

void Panel::name_series(std::size_t row, std::size_t series, const std::string& name) {
  const double y = top_ + 14 + static_cast<double>(row) * 16;
  svg_.box({left_ + width_ + 12, y - 8}, 10, 10, colour_of(series));
  svg_.text({left_ + width_ + 28, y}, name, Anchor::start, 11);
}

}  // namespace tributary::simtool
