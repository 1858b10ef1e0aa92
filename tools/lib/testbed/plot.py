"""Step times of trainings as an SVG: a line for each, milliseconds over steps."""

from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 860, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 40, 44
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")


def _nice(value):
    """A round number that is not less."""
    power = 1.0
    while power < value:
        power *= 10
    return next(power * f for f in (0.1, 0.2, 0.5, 1.0) if power * f >= value)


def step_times(title, series):
    """The text of an SVG; `series`: {name: seconds of each step}."""
    steps = max(2, *(len(times) for times in series.values()))
    most = _nice(max(max(times, default=0.0) for times in series.values()) * 1000 or 1.0)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(step):
        return _LEFT + width * step / (steps - 1)

    def y(milliseconds):
        return _TOP + height * (1 - milliseconds / most)

    def text(at_x, at_y, words, anchor="middle", colour="#222"):
        return (f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" fill="{colour}">'
                f"{escape(words)}</text>")

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        text(_LEFT, 18, title, "start"),
        text(_WIDTH / 2, _HEIGHT - 8, "step"),
    ]
    for tick in range(6):
        value = most * tick / 5
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value):.1f}" '
                     f'y2="{y(value):.1f}" stroke="#ddd"/>')
        parts.append(text(_LEFT - 6, y(value) + 4, f"{value:g} ms", "end"))
        step = round((steps - 1) * tick / 5)
        parts.append(text(x(step), _HEIGHT - 26, str(step + 1)))
    for number, (name, times) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(f"{x(i):.1f},{y(t * 1000):.1f}" for i, t in enumerate(times))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        parts.append(text(_LEFT + 8 + 200 * number, 34, name, "start", colour))
    return "\n".join([*parts, "</svg>"]) + "\n"
