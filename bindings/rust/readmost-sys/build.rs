// SPDX-License-Identifier: Apache-2.0
//! Compiles Readmost, or finds the installed library (feature `system`).
//!
//! The sources are those of the repository that this crate lies in, or else `vendor/`, where
//! packaging copies them.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    require_platform();
    let include = library();
    println!("cargo:include={}", include.display());
    // For the tests of this crate.
    println!("cargo:rustc-env=READMOST_INCLUDE={}", include.display());
    println!("cargo:rustc-env=READMOST_TARGET={}", variable("TARGET"));
    println!("cargo:rustc-env=READMOST_HOST={}", variable("HOST"));
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

fn require_platform() {
    let system = variable("CARGO_CFG_TARGET_OS");
    let width = variable("CARGO_CFG_TARGET_POINTER_WIDTH");
    let endian = variable("CARGO_CFG_TARGET_ENDIAN");
    if system != "linux" || width != "64" || endian != "little" {
        panic!(
            "readmost is for 64-bit little-endian Linux, not for {}: use another lock there",
            variable("TARGET")
        );
    }
}

#[cfg(feature = "system")]
fn library() -> PathBuf {
    let version = variable("CARGO_PKG_VERSION");
    let found = pkg_config::Config::new().atleast_version(&version).probe("readmost");
    let found = found.unwrap_or_else(|error| {
        panic!(
            "pkg-config finds no readmost {version}: install it, set PKG_CONFIG_PATH, or build \
             without the feature `system`\n{error}"
        )
    });
    let is_here = |folder: &&PathBuf| folder.join("readmost_rcu.h").exists();
    let standard = PathBuf::from("/usr/include");
    found.include_paths.iter().find(is_here).cloned().unwrap_or(standard)
}

#[cfg(not(feature = "system"))]
fn library() -> PathBuf {
    let root = sources();
    let include = root.join("include");
    let source = root.join("src");
    println!("cargo:rerun-if-changed={}", include.display());
    println!("cargo:rerun-if-changed={}", source.display());

    let mut build = cc::Build::new();
    build
        .cpp(true)
        .cpp_link_stdlib(None)
        .std("c++20")
        // A debug build of a program needs no slow locks.
        .opt_level(2)
        .define("NDEBUG", None)
        .define("READMOST_VERSION", Some(format!("\"{}\"", variable("CARGO_PKG_VERSION")).as_str()))
        .flag("-fno-exceptions")
        .flag("-fno-rtti")
        .flag("-fno-threadsafe-statics")
        .flag("-fvisibility=hidden")
        .flag(format!("-ffile-prefix-map={}=/", root.display()))
        .flag("-pthread")
        .include(&include)
        .include(&source)
        .files(listed_in(&source.join("CMakeLists.txt"), &source));
    if sanitizer().as_deref() == Some("thread") {
        build.flag("-fsanitize=thread");
    }
    build.compile("readmost");
    include
}

/// A run under a sanitizer compiles the library for it too.
#[cfg(not(feature = "system"))]
fn sanitizer() -> Option<String> {
    env::var("CARGO_CFG_SANITIZE").ok()
}

#[cfg(not(feature = "system"))]
fn sources() -> PathBuf {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let repository = here.join("../../..");
    if repository.join("bindings/rust/readmost-sys/build.rs").exists() {
        return repository.canonicalize().expect("the repository's path can be resolved");
    }
    let vendor = here.join("vendor");
    if !vendor.join("src/CMakeLists.txt").exists() {
        panic!(
            "{} lacks Readmost's sources: run `make rust-package` in the repository, or use the \
             feature `system`",
            vendor.display()
        );
    }
    vendor
}

/// The library's source files: CMake's lists are the only ones.
#[cfg(not(feature = "system"))]
fn listed_in(lists: &Path, source: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(lists)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", lists.display()));
    let mut files = Vec::new();
    for list in ["readmost_core_sources", "readmost_c_sources"] {
        let begin = format!("set({list}");
        let entries = text.split(&begin).nth(1).and_then(|rest| rest.split(')').next());
        let entries = entries.unwrap_or_else(|| panic!("{} has no list {list}", lists.display()));
        for entry in entries.split_whitespace().take_while(|word| *word != "CACHE") {
            let path = entry
                .strip_prefix("${PROJECT_SOURCE_DIR}/src/")
                .or_else(|| entry.strip_prefix("${CMAKE_CURRENT_SOURCE_DIR}/"))
                .unwrap_or_else(|| panic!("{}: {list} has '{entry}'", lists.display()));
            files.push(source.join(path));
        }
    }
    files
}
