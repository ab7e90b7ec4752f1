# SPDX-License-Identifier: Apache-2.0
"""A user's project: finds the package by CMake, and runs under the preloaded library too."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain", "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        for program in ("cxx_program", "c_program"):
            self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
        preloaded = os.path.join(self.cpp.build.bindir, "pthread_program")
        self.run(f'LD_PRELOAD="$READMOST_LIBRARY" {preloaded}', env="conanrun")
