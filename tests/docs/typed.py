"""Pages whose commands are typed in order into one shell, and print what they show."""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "tools/lib"))
import tour  # noqa: E402
from shell import Shell  # noqa: E402
from testbed.tree import module_directory  # noqa: E402

RELEASE = TOP / "build/release"


def check_page(case, page, *headings, skip=()):
    """Types the commands of a page, or of these of its sections; `case` is the unittest.TestCase. `skip`:
    commands that are left out. The build directory is in TRIBUTARY_BUILD."""
    build = pathlib.Path(os.environ["TRIBUTARY_BUILD"]).resolve()
    text = (TOP / page).read_text(encoding="utf-8")
    sections = [tour.section(text, heading) for heading in headings] or [(text, 1)]
    steps = [step for section in sections for step in tour.steps(*section) if step.command not in skip]
    case.assertGreater(len(steps), 3)
    shell = Shell(environment_of(build))
    case.addCleanup(shell.close)
    for step in steps:
        status, output = shell.run(for_build(step.command, build))  # one that hangs ends the page
        with case.subTest(f"{page}:{step.line}"):
            case.assertEqual(status, 0, f"{step.command}\n{output}")
            case.assertTrue(tour.matches(step.output, output),
                            f"{step.command}\nprints\n{output}\nthe page shows\n" +
                            "\n".join(step.output))


def environment_of(build):
    """Nothing for the build directory that pages name. Any other one has to be found."""
    if build == RELEASE:
        return {}
    return {"TRIBUTARY_BUILD": str(build), "LD_LIBRARY_PATH": f"{build}/worker/mpi"}


def for_build(command, build):
    """The command as the page has it, where the build directory is the one that it names."""
    if not environment_of(build):
        return command
    programs = build / "bin" if (build / "bin").exists() else build / "tools"
    for name, path in (("bin", programs), ("python", module_directory(build)), ("", build)):
        command = command.replace("$PWD/build/release" + f"/{name}" * bool(name), str(path))
    return command
