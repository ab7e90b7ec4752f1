// SPDX-License-Identifier: Apache-2.0
//! Compares the bindings with the C headers: a C file, made here from `src/lib.rs`, declares each
//! function once more as Rust sees it, and asserts every size, alignment and constant. A C compiler
//! accepts it only if all of them agree.

use readmost_sys::*;
use std::fmt::Write;
use std::fs;
use std::mem::{align_of, size_of};
use std::path::Path;
use std::process::Command;

const BINDINGS: &str = include_str!("../src/lib.rs");

/// The C type that a type of the bindings stands for.
fn c_type(rust: &str) -> String {
    let rust = rust.trim();
    if let Some(pointee) = rust.strip_prefix("*mut ") {
        return format!("{}*", c_type(pointee));
    }
    if let Some(pointee) = rust.strip_prefix("*const ") {
        return format!("{} const*", c_type(pointee));
    }
    if let Some(function) = rust.strip_prefix("Option<").and_then(|rest| rest.strip_suffix('>')) {
        return format!("{function}*");
    }
    match rust {
        "c_int" => "int".into(),
        "c_uint" => "unsigned int".into(),
        "c_char" => "char".into(),
        "c_void" => "void".into(),
        "u64" => "uint64_t".into(),
        "usize" => "size_t".into(),
        name if name.ends_with("_head") || name == "timespec" => format!("struct {name}"),
        name => name.into(),
    }
}

struct Function {
    name: String,
    prototype: String,
}

fn functions() -> Vec<Function> {
    let block = BINDINGS.split("extern \"C\" {\n").nth(1).expect("there is a block of functions");
    let mut found = Vec::new();
    for declaration in block.split("pub fn ").skip(1) {
        let declaration = declaration.split(';').next().expect("a declaration ends in ;");
        let (name, rest) = declaration.split_once('(').expect("a function has parameters");
        let (parameters, result) = rest.rsplit_once(')').expect("the parameters end");
        let parameters: Vec<String> = parameters
            .split(',')
            .filter_map(|parameter| parameter.split_once(':'))
            .map(|(_, kind)| c_type(kind))
            .collect();
        let parameters = if parameters.is_empty() { "void".into() } else { parameters.join(", ") };
        let result = result.trim().strip_prefix("->").map_or("void".into(), c_type);
        let prototype = format!("{result} {name}({parameters});");
        found.push(Function { name: name.into(), prototype });
    }
    found
}

fn include() -> &'static Path {
    Path::new(env!("READMOST_INCLUDE"))
}

/// Compiles a C file; returns what the compiler says if it does not accept it.
fn compile(name: &str, text: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}.c"));
    fs::write(&file, text).unwrap();
    let compiler = cc::Build::new()
        .target(env!("READMOST_TARGET"))
        .host(env!("READMOST_HOST"))
        .opt_level(0)
        .cargo_metadata(false)
        .get_compiler();
    let output = Command::new(compiler.path())
        .args(["-std=c11", "-Werror", "-fsyntax-only", "-I"])
        .arg(include())
        .arg(&file)
        .output()
        .expect("the C compiler starts");
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

const START: &str = "#include <readmost_hazard_pointer.h>\n";

#[test]
fn functions_have_the_parameters_and_results_of_the_header() {
    let mut text = String::from(START);
    for function in functions() {
        writeln!(text, "{}", function.prototype).unwrap();
    }
    if let Err(message) = compile("functions", &text) {
        panic!("{message}");
    }
}

#[test]
fn a_wrong_declaration_is_noticed() {
    let wrong = format!("{START}int readmost_rwlock_rdlock(readmost_rwlock_t const*);\n");
    assert!(compile("wrong", &wrong).is_err());
}

#[test]
fn every_function_of_the_headers_is_bound() {
    let bound: Vec<String> = functions().into_iter().map(|function| function.name).collect();
    for (header, least) in
        [("readmost.h", 15), ("readmost_rcu.h", 15), ("readmost_hazard_pointer.h", 10)]
    {
        let text = fs::read_to_string(include().join(header)).unwrap();
        let declarations: Vec<&str> = text.split("\nREADMOST_API").skip(1).collect();
        assert!(declarations.len() >= least, "{header} is not read as it is meant");
        for declaration in declarations {
            let before = declaration.split('(').next().unwrap();
            let name = before.rsplit([' ', '*', '\n']).next().unwrap();
            assert!(bound.iter().any(|other| other == name), "{name} of {header} is not bound");
        }
    }
}

#[test]
fn types_and_constants_are_those_of_the_header() {
    let mut text = format!("{START}#include <time.h>\n");
    let mut check = |condition: String| {
        writeln!(text, "_Static_assert({condition}, \"{condition}\");").unwrap();
    };
    macro_rules! types {
        ($($rust:ident as $c:literal),* $(,)?) => {$(
            check(format!("sizeof({}) == {}", $c, size_of::<$rust>()));
            check(format!("_Alignof({}) == {}", $c, align_of::<$rust>()));
        )*};
    }
    types!(
        readmost_rwlock_t as "readmost_rwlock_t",
        readmost_rwlockattr_t as "readmost_rwlockattr_t",
        readmost_rcu_head as "struct readmost_rcu_head",
        readmost_rcu_table_head as "struct readmost_rcu_table_head",
        readmost_id_head as "struct readmost_id_head",
        readmost_hazard_head as "struct readmost_hazard_head",
        readmost_hazard_pointer_t as "readmost_hazard_pointer_t",
        readmost_rcu_ticket_t as "readmost_rcu_ticket_t",
        readmost_rcu_statistics_t as "readmost_rcu_statistics_t",
        timespec as "struct timespec",
        clockid_t as "clockid_t",
    );
    macro_rules! constants {
        ($($name:ident),* $(,)?) => {$(check(format!("{} == {}", stringify!($name), $name));)*};
    }
    constants!(
        READMOST_PREFER_WRITER,
        READMOST_PREFER_READER,
        READMOST_PREFER_PHASE_FAIR,
        READMOST_NOT_HELD,
        READMOST_HELD_FOR_READING,
        READMOST_HELD_FOR_WRITING,
        READMOST_RCU_PACE,
        READMOST_RCU_BLOCK,
        READMOST_RCU_WARN,
        READMOST_RCU_IN_BACKGROUND,
        READMOST_RCU_IN_PLACE,
        READMOST_RCU_ON_REQUEST,
    );
    macro_rules! members {
        ($($name:ident),* $(,)?) => {$(check(format!(
            "offsetof(readmost_rcu_statistics_t, {}) == {}",
            stringify!($name),
            core::mem::offset_of!(readmost_rcu_statistics_t, $name),
        ));)*};
    }
    members!(
        grace_periods,
        by_membarrier,
        asleep,
        retired,
        reclaimed,
        waiting,
        waiting_bytes,
        waits_for,
        waits_since,
    );
    if let Err(message) = compile("types", &text) {
        panic!("{message}");
    }
}

/// The initialisers are in the binary what the header's are: they make locks of the same preference.
#[test]
fn initialisers_have_the_bytes_of_the_header() {
    let ours = [
        ("READMOST_RWLOCK_INITIALIZER", READMOST_RWLOCK_INITIALIZER),
        ("READMOST_RWLOCK_INITIALIZER_READER", READMOST_RWLOCK_INITIALIZER_READER),
        ("READMOST_RWLOCK_INITIALIZER_PHASE_FAIR", READMOST_RWLOCK_INITIALIZER_PHASE_FAIR),
    ];
    let header = fs::read_to_string(include().join("readmost.h")).unwrap();
    for (name, lock) in ours {
        let line =
            header.lines().find(|line| line.starts_with(&format!("#define {name} "))).unwrap();
        let numbers: Vec<u8> = line
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        // SAFETY: a lock is 16 bytes without padding, and no thread uses this one.
        let bytes: [u8; 16] = unsafe { std::mem::transmute(lock) };
        assert_eq!(numbers.len(), 9, "{line}");
        assert_eq!(bytes[..8], [numbers[0]; 8], "{name}");
        assert_eq!(bytes[8..], numbers[1..], "{name}");
    }
}

#[test]
fn the_library_has_the_version_of_the_crate() {
    // SAFETY: the function returns a string that lasts.
    let version = unsafe { std::ffi::CStr::from_ptr(readmost_version()) };
    assert_eq!(version.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_lock_and_a_section_work() {
    let lock = READMOST_RWLOCK_INITIALIZER;
    let at = std::ptr::addr_of!(lock).cast_mut();
    // SAFETY: the lock is not moved and outlives its use; the section is closed.
    unsafe {
        assert_eq!(readmost_rwlock_rdlock(at), 0);
        assert_eq!(readmost_rwlock_held(at), READMOST_HELD_FOR_READING);
        assert_eq!(readmost_rwlock_rdunlock(at), 0);
        readmost_rcu_read_lock(std::ptr::null_mut());
        assert_eq!(readmost_rcu_read_ongoing(std::ptr::null_mut()), 1);
        readmost_rcu_read_unlock(std::ptr::null_mut());
        assert_eq!(readmost_rcu_synchronize(std::ptr::null_mut()), 0);
    }
}
