#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the files of a release (tools/release) out of a small repository, and looks at them and at the Debian packages.

release: a tree that differs from the commit is refused, and nothing is made; out of a clean one come source archive, wheel and
packages, SHA256SUMS fits all of them, and what is printed names them. debs: each file of an installation is in one package,
and no library of a vendor's; no package depends on one; what they hold, unpacked into a folder, has two ranks
exchange device memory. lintian: it has nothing to say.

Exit status 0 when all is well, 1 with a line for each thing that is not, 77 when a tool is missing.
"""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import sys
import tarfile

from check_installation import run, skip
from check_wheel import run_problems

# What tools/release reads of the sources.
PARTS = ("tools", "packaging", "python", "include/sluice", "LICENSE", "README.md", "CHANGELOG.md", ".gitignore")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "LD_"))} | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
    **{f"GIT_{who}_{what}": "sluice@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
OWN = re.compile(r"lib(sluice_\w+|emurt)\.so|(spoiling_mpi|paced_wire)_\w+\.so")
ALLOWED = re.compile(r"sluice|libc6|libgcc-s1|libstdc\+\+6|libgomp1|libhwloc15|python3:any|lib(mpich|openmpi)\w+$")


def git(folder, *words):
    status, output = run(["git", "-C", folder, *words], env=ENVIRONMENT)
    if status != 0:
        raise RuntimeError(f"git {words[0]} ends with {status}: {output}")
    return output


def make_repository(source, folder):
    for part in PARTS:
        place = folder / part
        place.parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source / part, place)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all of it")


def sum_problems(files):
    """Yields what is wrong with SHA256SUMS."""
    lines = [line.split("  ", 1) for line in (files / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    listed = {name: digest for digest, name in lines}
    there = {file.name for file in files.iterdir()} - {"SHA256SUMS"}
    if listed.keys() != there:
        yield f"SHA256SUMS and the folder differ in {', '.join(sorted(listed.keys() ^ there))}"
    for name in listed.keys() & there:
        if hashlib.sha256((files / name).read_bytes()).hexdigest() != listed[name]:
            yield f"SHA256SUMS has another sum of {name}"


def archive_problems(files, repository):
    """Yields what is wrong with the source archive."""
    archives = list(files.glob("*.tar.gz"))
    if len(archives) != 1:
        yield f"there are {len(archives)} source archives"
        return
    folder = archives[0].name.removesuffix(".tar.gz")
    with tarfile.open(archives[0]) as archive:
        names = {member.name for member in archive if member.isfile()}
    wanted = {f"{folder}/{name}" for name in git(repository, "ls-files").splitlines()}
    if names != wanted:
        yield f"{archives[0].name} and the commit differ in {', '.join(sorted(names ^ wanted)[:5])}"


def release(args):
    """Runs tools/release on a tree that is not clean, then on one that is."""
    for program in ("git", "cpack", "dpkg-shlibdeps"):
        if shutil.which(program) is None:
            skip(program)
    shutil.rmtree(args.folder, ignore_errors=True)
    repository, files = args.folder / "repository", args.folder / "files"
    make_repository(args.source, repository)
    command = [repository / "tools/release", "--build", args.build, "--out", files, "--quick"]
    problems = []
    (repository / "left").write_text("over\n", encoding="utf-8")
    status, output = run(command, env=ENVIRONMENT)
    if status == 0 or "left" not in output or files.exists():
        problems.append(f"with a file that is in no commit it ends with {status}:\n{output}")
    (repository / "left").unlink()
    status, output = run(command, env=ENVIRONMENT)
    if status != 0:
        return [*problems, f"tools/release ends with {status}:\n{output}"]
    problems += [*sum_problems(files), *archive_problems(files, repository)]
    problems += [f"there is no *{suffix}" for suffix in (".whl", ".deb") if not list(files.glob(f"*{suffix}"))]
    problems += [f"{file.name} is not printed:\n{output}" for file in files.iterdir() if file.name not in output]
    return problems


def fields(package):
    """The control fields of a package."""
    output = run(["dpkg-deb", "--field", package])[1]
    return dict(re.findall(r"^([\w-]+): (.*)$", output, re.MULTILINE))


def names_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


def control_problems(package, control):
    """Yields what is wrong with what a package says of itself."""
    if control.get("Maintainer", "").count("@") != 1 or not control.get("Description"):
        yield f"{package} names no maintainer or has no description"
    for one in re.split(r", | \| ", control.get("Depends", "")):
        if not ALLOWED.match(one.split(" ")[0]):
            yield f"{package} depends on {one}"


def content_problems(unpacked, prefix):
    """Yields what is wrong with the files of all packages together: {package: folder}."""
    owners = {}
    for package, root in unpacked.items():
        for name in names_in(root):
            owners.setdefault(name.removeprefix("usr/"), []).append(package)
            if not name.startswith("usr/"):
                yield f"{package} has /{name}"
            if re.search(r"\.so(\.|$)", name) and not OWN.fullmatch(name.split("/")[-1]):
                yield f"{package} has a library of another origin, /{name}"
        yield from (f"{package} has no {name}" for name in ("copyright", "changelog.Debian.gz")
                    if not (root / "usr/share/doc" / package / name).exists())
    yield from (f"{name} is in {' and '.join(packages)}" for name, packages in owners.items() if len(packages) > 1)
    installed = {re.sub(r"^(share/man/.*)$", r"\1.gz", name).replace("zsh/site-functions", "zsh/vendor-completions")
                 for name in names_in(prefix)
                 if name.startswith(("bin/", "include/", "lib", "share/")) and not name.startswith("share/modulefiles")}
    # Other tests write what they compile beside the folders.
    yield from (f"{name} of an installation is in no package" for name in sorted(installed - owners.keys()) if "__pycache__" not in name)


def debs(args):
    """Looks at the packages that tools/release made, or makes them."""
    if shutil.which("dpkg-deb") is None or shutil.which("dpkg-shlibdeps") is None:
        skip("dpkg-deb and dpkg-shlibdeps (Debian package dpkg-dev)")
    files = args.folder / "files"
    if not list(files.glob("*.deb")):
        status, output = run([args.source / "packaging/make_debs", "--build", args.build, "--out", files, "--compression", "gzip"], env=ENVIRONMENT)
        if status != 0:
            return [f"packaging/make_debs ends with {status}:\n{output}"]
    packages = {fields(file)["Package"]: file for file in files.glob("*.deb")}
    wanted = {"sluice", "libsluice-dev", "sluice-bench", *(f"sluice-{name}" for name in args.backends)}
    problems = [f"there is no package {name}" for name in wanted - packages.keys()]
    together, unpacked = args.folder / "together", {}
    shutil.rmtree(together, ignore_errors=True)
    for name, file in packages.items():
        problems += control_problems(name, fields(file))
        unpacked[name] = args.folder / "unpacked" / name
        shutil.rmtree(unpacked[name], ignore_errors=True)
        unpacked[name].mkdir(parents=True)
        run(["dpkg-deb", "--extract", file, unpacked[name]])
        shutil.copytree(unpacked[name], together, symlinks=True, dirs_exist_ok=True)
    problems += content_problems(unpacked, args.prefix)
    args.prefix = together / "usr"
    if not problems:
        problems += run_problems(args, ENVIRONMENT)
    return problems


def lintian(args):
    """What lintian says of the packages."""
    if shutil.which("lintian") is None:
        skip("lintian (Debian package of that name)")
    packages = sorted((args.folder / "files").glob("*.deb"))
    status, output = run(["lintian", "--fail-on", "error,warning", "--allow-root", *packages])
    if status != 0 or output.strip() or not packages:
        return [f"lintian ends with {status} on {len(packages)} packages:\n{output}"]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["release", "debs", "lintian"])
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="folder for all that is made")
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--prefix", type=pathlib.Path, help="an installation of that build")
    parser.add_argument("--backends", nargs="*", default=[])
    parser.add_argument("--flavour", help="of the programs that run")
    parser.add_argument("--mpiexec")
    parser.add_argument("--device", help="backend whose memory they exchange")
    args = parser.parse_args()
    problems = {"release": release, "debs": debs, "lintian": lintian}[args.step](args)
    for problem in problems:
        print(f"install: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
