"""Pictures with matplotlib, which is imported when one is drawn and not before."""


class NoMatplotlib(Exception):
    """Says which package to install."""


def panels(number):
    """(figure, its panels from top to bottom), to be written with figure.savefig()."""
    try:
        import matplotlib
    except ImportError as error:
        raise NoMatplotlib("drawing needs matplotlib: apt-get install python3-matplotlib") from error
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(number, 1, figsize=(10, 1 + 3.2 * number), layout="constrained",
                                   squeeze=False)
    for axis in axes[:, 0]:
        axis.grid(True, color="#dddddd")
        axis.set_axisbelow(True)
    return figure, list(axes[:, 0])


def time_text(ns, _position=None):
    """100 us: a tick of a time axis in nanoseconds."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:g} {unit}"
    return f"{ns:g} ns"


def bytes_text(number, _position=None):
    """1.5 MiB"""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if number >= size:
            return f"{number / size:.4g} {unit}"
    return f"{number:g} B"


def bytes_axis(axes, most):
    """Ticks of the y axis from 0 to `most` bytes, at powers of two."""
    step = 1
    while step * 6 < most:
        step *= 2
    axes.set_yticks(range(0, int(most) + step, step))
    axes.yaxis.set_major_formatter(bytes_text)


def step_times(title, series, path):
    """A line for each of `series`, {name: seconds of each step}: milliseconds over steps."""
    figure, (axes,) = panels(1)
    for name, times in series.items():
        axes.plot(range(1, len(times) + 1), [t * 1000 for t in times], label=name)
    axes.set(title=title, xlabel="step", ylabel="ms", ylim=(0, None))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()
    figure.savefig(path)
