//! Compiles the programs that the running kernel executes, so that the finished program carries them.

use schedlab_clang::Clang;
use schedlab_clang::headers::{self, Upstream};
use std::path::{Path, PathBuf};

fn main() {
    for path in ["build.rs", "bpf"] {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-env-changed=CLANG");
    if let Err(why) = build() {
        eprintln!("{why}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let crate_folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let manifest = crate_folder.join("../../policies/include/upstream/Cargo.toml");
    println!("cargo::rerun-if-changed={}", manifest.with_file_name("Cargo.lock").display());
    let include = out.join("headers");
    let tree = Upstream::locate(&manifest)?.kernel()?;
    headers::unpack(&tree, &include).map_err(|e| format!("{}: {e}", include.display()))?;
    let clang = Clang::find().map_err(|why| format!("cannot compile the recorder: {why}"))?;
    // Not the variable PATH: another order of its folders would compile all again.
    if let Some(file) = clang.file() {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let source: &Path = &crate_folder.join("bpf/recorder.bpf.c");
    let warnings = clang.compile(source, &include, &out.join("recorder.bpf.o"))?;
    for line in warnings.lines() {
        println!("cargo::warning={line}");
    }
    Ok(())
}
