//! Checks the runtimes of the chart grammar, which the finished program carries so that it draws without a network. It downloads
//! nothing: `tools/fetch` does.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// A line for each runtime: its hash, and its path below `node_modules`.
const HASHES: &str = include_str!("web/runtime.sha256");

fn main() {
    let web = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR")).join("web");
    println!("cargo::rerun-if-changed=web/runtime.sha256");
    for line in HASHES.lines() {
        let (hash, name) = line.split_once("  ").expect("a line of web/runtime.sha256 is a hash and a path");
        println!("cargo::rerun-if-changed=web/node_modules/{name}");
        if let Err(why) = check(&web.join("node_modules").join(name), hash) {
            eprintln!("schedlab-charts: {why}: run tools/fetch, which downloads what a build needs");
            std::process::exit(1);
        }
    }
}

fn check(file: &Path, wanted: &str) -> Result<(), String> {
    let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if hash == wanted { Ok(()) } else { Err(format!("{}: its hash is {hash} and not {wanted}", file.display())) }
}
