# SPDX-License-Identifier: BSD-3-Clause
"""The Spack recipe (docs/packaging.md)."""

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
    depends_on("mpich@5:", when="mpi=mpich")
    depends_on("openmpi@5:", when="mpi=openmpi")

    conflicts("%gcc@:11", msg="C++20 as of g++ 12 is needed")
    requires("platform=linux", msg="the dynamic linker of Linux loads the library")

    generator("ninja")

    @property
    def mpi_folders(self):
        """A folder with one MPI's installation by its name, which is how the build looks for headers."""
        return join_path(self.build_directory, "host_mpis")

    @run_before("cmake")
    def show_mpi(self):
        """Makes that folder."""
        name = self.spec.variants["mpi"].value
        mkdirp(self.mpi_folders)
        symlink(self.spec[name].prefix, join_path(self.mpi_folders, name))

    def cmake_args(self):
        interface = {"mpich": "mpich", "openmpi": "ompi"}[self.spec.variants["mpi"].value]
        return [
            self.define("BUILD_TESTING", False),
            self.define("SLUICE_ONLY_FLAVOURS", interface),
            self.define("SLUICE_PYTHON_ENVS", self.mpi_folders),
        ]
