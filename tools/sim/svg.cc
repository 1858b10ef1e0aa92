#include "tools/sim/svg.h"

#include <array>
#include <cstdio>

namespace tributary::simtool {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::string attribute(const char* name, std::string_view value) {
  std::string text;
  text.append(" ").append(name).append("=\"").append(value).append("\"");
  return text;
}
std::string attribute(const char* name, double value) {
  return attribute(name, number(value));
}

std::string escaped(std::string_view words) {
  std::string out;
  for (const char c : words) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

}  // namespace

Svg::Svg(double width, double height)
    : body_("<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\"" +
            attribute("width", width) + attribute("height", height) + " viewBox=\"0 0 " +
            number(width) + " " + number(height) +
            "\" font-family=\"Helvetica, Arial, sans-serif\">\n") {
  box({0, 0}, width, height, "#fff");
}

void Svg::text(Point at, std::string_view words, Anchor anchor, double size,
               std::string_view colour) {
  constexpr std::array<std::string_view, 3> kAnchors = {"start", "middle", "end"};
  body_ += "<text" + attribute("x", at.first) + attribute("y", at.second) +
           attribute("text-anchor", kAnchors[static_cast<std::size_t>(anchor)]) +
           attribute("font-size", size) + attribute("fill", colour) + ">" + escaped(words) +
           "</text>\n";
}

void Svg::line(Point from, Point to, std::string_view colour, double width) {
  body_ += "<line" + attribute("x1", from.first) + attribute("y1", from.second) +
           attribute("x2", to.first) + attribute("y2", to.second) + attribute("stroke", colour) +
           attribute("stroke-width", width) + "/>\n";
}

void Svg::polyline(const std::vector<Point>& points, std::string_view colour, double width) {
  std::string list;
  for (const auto& [x, y] : points)
    list.append(number(x)).append(",").append(number(y)).append(" ");
  body_ += "<polyline fill=\"none\"" + attribute("points", list) + attribute("stroke", colour) +
           attribute("stroke-width", width) + "/>\n";
}

void Svg::box(Point corner, double width, double height, std::string_view fill) {
  body_ += "<rect" + attribute("x", corner.first) + attribute("y", corner.second) +
           attribute("width", width) + attribute("height", height) + attribute("fill", fill) +
           "/>\n";
}

}  // namespace tributary::simtool
