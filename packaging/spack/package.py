# SPDX-License-Identifier: BSD-3-Clause
"""The Spack recipe (docs/packaging.md)."""

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Sluice(CMakePackage):
    """Makes the MPI that is there GPU-aware, by a library that is loaded in front of it."""

    license("BSD-3-Clause")

    version("main")

    variant("mpi", default="mpich", values=("mpich", "openmpi"), multi=False,
            description="Binary interface of the MPI that programs are linked to")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("fmt@9:")
    depends_on("nlohmann-json")
    depends_on("cli11")
    depends_on("hwloc@2:")
    depends_on("mpich@4:", when="mpi=mpich")
    depends_on("openmpi@4.1:", when="mpi=openmpi")

    conflicts("%gcc@:11", msg="C++20 as of g++ 12 is needed")
    requires("platform=linux", msg="the dynamic linker of Linux loads the library")

    generator("ninja")

    # Without applications, which are not installed.
    build_targets = ["sluice_runtime", "sluice_help"]

    @property
    def mpi_folders(self):
        """A folder with one MPI's headers by its name, which is where the build looks for them."""
        return join_path(self.build_directory, "host_mpis")

    @run_before("cmake")
    def show_mpi(self):
        """Makes that folder. The MPI's own compiler says where its headers are, which a distribution puts anywhere."""
        name = self.spec.variants["mpi"].value
        folder = self.spec[name].prefix.bin
        # Distributions that have several MPIs side by side call each by its name.
        compilers = [join_path(folder, f"mpicc.{name}"), join_path(folder, "mpicc")]
        shown = Executable(next(filter(os.path.exists, compilers)))("-show", output=str)
        includes = [word[2:] for word in shown.split() if word.startswith("-I")]
        header = find_headers("mpi", [*includes, self.spec[name].prefix.include])[0]
        mkdirp(join_path(self.mpi_folders, name))
        link = join_path(self.mpi_folders, name, "include")
        if os.path.lexists(link):  # of a build of the same folder before
            os.remove(link)
        symlink(os.path.dirname(header), link)

    def cmake_args(self):
        interface = {"mpich": "mpich", "openmpi": "ompi"}[self.spec.variants["mpi"].value]
        return [
            self.define("BUILD_TESTING", False),
            # Half the time to compile; the library is optimised as without.
            self.define("SLUICE_COMPILE_ONCE", True),
            self.define("SLUICE_COMPILE_QUICKLY", ""),
            self.define("SLUICE_ONLY_FLAVOURS", interface),
            self.define("SLUICE_PYTHON_ENVS", self.mpi_folders),
        ]
