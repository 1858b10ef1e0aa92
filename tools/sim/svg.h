// A drawing in SVG 1.1: shapes in order, later ones on top. Text is escaped.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::simtool {

enum class Anchor { start, middle, end };

class Svg {
 public:
  using Point = std::pair<double, double>;

  Svg(double width, double height);

  void text(Point at, std::string_view words, Anchor anchor = Anchor::start, double size = 12,
            std::string_view colour = "#333");
  void line(Point from, Point to, std::string_view colour, double width = 1);
  void polyline(const std::vector<Point>& points, std::string_view colour, double width = 2);
  void box(Point corner, double width, double height, std::string_view fill);

  [[nodiscard]] std::string str() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

}  // namespace tributary::simtool
