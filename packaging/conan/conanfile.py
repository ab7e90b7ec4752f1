# SPDX-License-Identifier: Apache-2.0
"""Readmost's library for Conan 2: the locks, RCU and the preloaded library, without the command."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir

required_conan_version = ">=2.0"


class ReadmostRecipe(ConanFile):
    name = "readmost"
    description = "Reader-writer locks and RCU whose readers execute no atomic instruction and no fence"
    license = "Apache-2.0"
    topics = ("rwlock", "shared-mutex", "rcu", "hazard-pointers", "concurrency")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    @property
    def _source(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        text = load(self, os.path.join(self._source, "CMakeLists.txt"))
        self.version = re.search(r"project\(readmost VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "man/*", "rivals/*", "src/*",
                        "tools/gdb/*"):
            copy(self, pattern, self._source, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("readmost needs Linux: it sleeps in futexes and uses membarrier(2)")
        if self.settings.arch not in ("x86_64", "armv8", "riscv64"):
            raise ConanInvalidConfiguration(f"readmost is for 64-bit little-endian processors, not {self.settings.arch}")
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("BUILD_TESTING", "READMOST_COMMAND", "READMOST_EXAMPLES"):
            toolchain.cache_variables[part] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        lib = os.path.join(self.package_folder, "lib")
        # Conan writes these for each consumer.
        for folder in ("cmake", "pkgconfig"):
            rmdir(self, os.path.join(lib, folder))
        # One of the two, so that a process has one copy of the library.
        rm(self, "libreadmost.a" if self.options.shared else "libreadmost.so*", lib)

    def package_info(self):
        self.cpp_info.libs = ["readmost"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("cmake_file_name", "readmost")
        self.cpp_info.set_property("cmake_target_name", "readmost::readmost")
        self.cpp_info.set_property("cmake_target_aliases", ["readmost::shared"] if self.options.shared else [])
        self.cpp_info.set_property("pkg_config_name", "readmost")
        self.runenv_info.define_path("READMOST_LIBRARY", os.path.join(self.package_folder, "lib", "libreadmost-pthread.so"))
