#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Looks at what helps a user of an installation: man pages, completion for shells, and files for environment modules.

man: each program has a page, and each option of a program's help, each knob that `sluice info` lists and each function of the
public headers stands in one; the formatter has nothing to say. completion: bash, zsh and fish offer commands, options and
values. modules: Environment Modules and Lmod set and unset the variables, and keep to one version.

Exit status 0 when all is well, 1 with a line for each thing that is not, 77 when a tool is missing.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import sys

from check_installation import run, skip

HERE = pathlib.Path(__file__).resolve().parent
OPTION = re.compile(r"^ +((?:-\w|--[\w-]+)(?:[, ]+--?[\w-]+)*)", re.MULTILINE)
# No settings of the user.
PLAIN = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}
FUNCTION = re.compile(r"^[a-z].*\b((?:sluice|MPIX)_\w+)\(", re.MULTILINE)
TOOLS_OF_MODULES = {
    "Environment Modules": ("environment-modules", ["/usr/lib/*/modulecmd.tcl", "/usr/share/modules/libexec/modulecmd.tcl"]),
    "Lmod": ("lmod", ["/usr/share/lmod/lmod/libexec/lmod"]),
}


def page_text(file):
    """What a page says, without the formatter's words: those of the page that it leads to where it is another name."""
    text = file.read_text(encoding="utf-8")
    if text.startswith(".so "):
        text = (file.parents[1] / text.split()[1]).read_text(encoding="utf-8")
    return re.sub(r"\\f[A-Z]|\\&", "", text).replace("\\-", "-").replace("\\(aq", "'")


def help_problems(pages, page, command):
    """Yields each option of a program's help that its page does not have."""
    status, output = run([*command, "--help"])
    options = {name for line in OPTION.findall(output) for name in re.findall(r"--?[\w-]+", line)}
    file = pages / f"man1/{page}.1"
    if "loading shared libraries" in output:  # the MPI of this one is not where the loader looks
        options = {"--help"}
    if not options:
        yield f"`{' '.join(str(word) for word in command)} --help` ends with {status}, and shows {len(options)} options:\n{output}"
    elif not file.exists():
        yield f"there is no {file.name}"
    else:
        text = page_text(file)
        yield from (f"{file.name} does not have {name}" for name in sorted(options) if not re.search(rf"(?<![\w-]){name}\b", text))


def formatter_problems(file):
    """Yields what the formatter says about a page, as lintian asks it."""
    _, output = run(["bash", "-c", 'man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null', "bash", file],
                    env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"}, cwd=file.parents[1])
    yield from (f"{file.name}: {line}" for line in output.splitlines()[:3])


def man(args):
    """The pages."""
    if not args.rst2man:
        skip("rst2man (Debian package python3-docutils) when the build was configured: there are no pages")
    pages = args.prefix / "share/man"
    sluice = args.prefix / "bin/sluice"
    commands = {"sluice": [sluice], **{f"sluice-{word}": [sluice, word] for word in ("run", "info", "doctor", "trace", "report", "tune")},
                "sluice-trace-merge": [sluice, "trace", "merge"]}
    for program in sorted((args.prefix / "bin").glob("sluice-bench.*")):
        commands[program.name] = [program]
        commands.update({f"sluice-bench-{word}": [program, word] for word in ("compare", "report", "paper")})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [one for found in pool.map(lambda item: list(help_problems(pages, *item)), commands.items()) for one in found]
        if shutil.which("man"):
            files = sorted(pages.glob("man*/*"))
            problems += [one for found in pool.map(lambda file: list(formatter_problems(file)), files) for one in found]
        else:
            print("man is missing (Debian package man-db): the formatter was not asked")
    knobs = page_text(pages / "man7/sluice.7") if (pages / "man7/sluice.7").exists() else ""
    status, output = run([sluice, "info", "--json"])
    names = [knob["name"] for knob in json.loads(output)["knobs"]] if status == 0 else []
    problems += [f"sluice(7) does not have {name}" for name in names or ["any knob of `sluice info --json`"] if name not in knobs]
    for header in ("sluice", "queue", "partitioned"):
        for name in FUNCTION.findall((args.prefix / f"include/sluice/{header}.h").read_text(encoding="utf-8")):
            file = pages / f"man3/{name}.3"
            if not file.exists() or f"{name}()" not in page_text(file):
                problems.append(f"there is no page of {name} in section 3")
    return problems


def offers(output, wanted):
    return all(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", output) for word in wanted)


def asked(shell, share, line):
    """What a shell offers behind a line."""
    files = {"bash": share / "bash-completion/completions", "zsh": share / "zsh/site-functions", "fish": share / "fish/vendor_completions.d"}
    return run([shell, *PLAIN[shell], HERE / f"complete.{shell}", files[shell], line], env={**os.environ, "HOME": "/nonexistent", "TERM": "vt100"})[1]


def bench_program(args):
    names = sorted(file.name for file in (args.prefix / "bin").glob("sluice-bench.*"))
    return names[0] if names else None


def completion(args):
    """The shells that are there; those that are not are named."""
    lines = {"sluice ": ["run", "info", "doctor", "tune"], "sluice run --": ["--mpi", "--bind", "--stats"],
             "sluice run --mpi ": ["auto", "mpich", "ompi", "abi"], "sluice info --from ": ["host", "pinned", "device", "shared"],
             "sluice info --operation ": ["allreduce", "put"], "sluice trace ": ["merge"], "sluice tune --": ["--launch"]}
    bench = bench_program(args)
    if bench:
        lines |= {f"{bench} lat": ["latency", "latency_mt"], f"{bench} latency --che": ["--check", "--check-on"],
                  f"{bench} compare --": ["--limit-percent"], f"{bench} latency --check ": ["all", "some", "none"]}
    shells = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)]
    share = args.prefix / "share"
    asks = [(shell, line) for shell in shells for line in lines]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda ask: asked(ask[0], share, ask[1]), asks))
    problems = [f"{shell} does not offer all of {', '.join(lines[line])} behind \"{line}\":\n{answer}"
                for (shell, line), answer in zip(asks, answers) if not offers(answer, lines[line])]
    missing = [shell for shell in ("bash", "zsh", "fish") if shell not in shells]
    if missing and not problems:
        skip(f"{', '.join(missing)} (Debian packages of that name); {', '.join(shells)} complete")
    return problems


SCRIPT = """module() { eval "$("${tool[@]}" bash "$@" 2>/dev/null)"; }
module load sluice/$1
echo "loaded: $SLUICE_ROOT|$PATH|$MANPATH|$LD_LIBRARY_PATH|$PKG_CONFIG_PATH|$CMAKE_PREFIX_PATH"
module load sluice/0.0.1
echo "second: $PATH"
module purge
echo "unloaded: $SLUICE_ROOT|$PATH|$MANPATH|$LD_LIBRARY_PATH|$PKG_CONFIG_PATH|$CMAKE_PREFIX_PATH"
"""


def modules_problems(name, command, kind, args, version):
    """Yields what is wrong with one tool and one kind of file, "" (Tcl) or ".lua"."""
    places = {"first": args.scratch / "first", "second": args.scratch / "second"}
    shutil.rmtree(args.scratch, ignore_errors=True)
    for place, number in zip(places.values(), (version, "0.0.1")):
        (place / "share/modulefiles/sluice").mkdir(parents=True)
        shutil.copy(args.prefix / f"share/modulefiles/sluice/{version}{kind}", place / f"share/modulefiles/sluice/{number}{kind}")
    path = ":".join(str(place / "share/modulefiles") for place in places.values())
    tool = "tool=(" + " ".join(str(word) for word in command) + ")\n"
    status, output = run(["bash", "-c", tool + SCRIPT, "bash", version],
                         env={"HOME": str(args.scratch), "PATH": "/usr/bin:/bin", "MODULEPATH": path})
    said = dict(line.split(": ", 1) for line in output.splitlines() if ": " in line)
    root = places["first"]
    wanted = [str(root), f"{root}/bin:/usr/bin:/bin", f"{root}/share/man:", f"{root}/lib", f"{root}/lib/pkgconfig", str(root)]
    loaded = said.get("loaded", "").split("|")
    if [text.rstrip(":") for text in loaded] != [text.rstrip(":") for text in wanted] or not loaded[2].endswith(":"):
        yield f"{name} sets {said.get('loaded')}, not {'|'.join(wanted)} (status {status}):\n{output}"
    if sum(f"{place}/bin" in said.get("second", "") for place in places.values()) != 1:
        yield f"{name} keeps two versions loaded: {said.get('second')}"
    if said.get("unloaded") != "|/usr/bin:/bin||||":
        yield f"{name} leaves {said.get('unloaded')} behind"


def modules(args):
    """The tools that are there."""
    version = next(file.name for file in (args.prefix / "share/modulefiles/sluice").iterdir() if file.suffix != ".lua")
    problems, missing = [], []
    for name, (package, patterns) in TOOLS_OF_MODULES.items():
        found = [file for pattern in patterns for file in pathlib.Path("/").glob(pattern[1:])]
        given = os.environ.get(f"TEST_{package.upper().replace('-', '_')}")
        if not found and not given:
            missing.append(f"{name} (Debian package {package})")
            continue
        tool = pathlib.Path(given) if given else found[0]
        command = ["tclsh", tool] if tool.suffix == ".tcl" else [tool]
        for kind in ("", ".lua") if name == "Lmod" else ("",):
            problems += modules_problems(f"{name} with the file {version}{kind}", command, kind, args, version)
    if len(missing) == len(TOOLS_OF_MODULES):
        skip(" and ".join(missing))
    if missing:
        print(f"{missing[0]} is missing; the other was asked")  # Debian has one of them at a time
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["man", "completion", "modules"])
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="an installation")
    parser.add_argument("--rst2man", default="", help="what made the man pages")
    parser.add_argument("--scratch", type=pathlib.Path, help="folder that is emptied")
    args = parser.parse_args()
    problems = {"man": man, "completion": completion, "modules": modules}[args.step](args)
    for problem in problems:
        print(f"install: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
