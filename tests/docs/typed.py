"""A page whose commands are typed in order, and print what it shows."""
import os

import tour
from shell import Shell

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def check_page(case, page, folder, before=()):
    """As root, with the build directory in TRIBUTARY_BUILD; `case` is the unittest.TestCase. `before`:
    commands that the page doesn't show."""
    with open(os.path.join(TOP, page), encoding="utf-8") as f:
        steps = tour.steps(f.read())
    case.assertGreater(len(steps), 5)
    shell = Shell(folder)
    case.addCleanup(shell.close)
    shell.run("mkdir -p /run/netns && mount -t tmpfs none /run/netns")
    shell.run(f"export TMPDIR={folder} TRIBUTARY_TESTBED={os.path.basename(folder)}-{os.getpid()}")
    for command in before:
        shell.run(command)
    build = os.environ["TRIBUTARY_BUILD"]
    for step in steps:
        with case.subTest(f"{page}:{step.line}"):
            status, output = shell.run(step.command.replace("$PWD/build/release", build))
            case.assertEqual(status, 0, f"{step.command}\n{output}")
            case.assertTrue(tour.matches(step.output, output),
                            f"{step.command}\nprints\n{output}\nthe page shows\n" +
                            "\n".join(step.output))
