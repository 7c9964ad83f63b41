//! Compiles every policy of `policies/` and packs the headers that a user's policy needs, so that the finished program
//! carries both and works where neither this checkout nor cargo is.

use schedlab_clang::Clang;
use schedlab_clang::headers::{self, Tree, Upstream};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let policies = manifest_directory().join("../../policies").canonicalize().expect("the folder policies/ is there");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for path in [Path::new("build.rs"), &policies] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rerun-if-env-changed=CLANG");

    let tree = header_tree(&policies).unwrap_or_else(|why| fail(&why));
    let headers = out.join("headers");
    headers::unpack(&tree, &headers).expect("OUT_DIR is writable");
    let archive = headers::pack(&tree).expect("memory takes everything");
    fs::write(out.join("headers.tar.zst"), archive).expect("OUT_DIR is writable");

    let clang = Clang::find().unwrap_or_else(|why| fail(&format!("cannot compile the policies: {why}")));
    // Not the variable PATH: another order of its folders would compile all again.
    if let Some(file) = clang.file() {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let native = manifest_directory().join("src/native/bridge.bpf.c");
    println!("cargo::rerun-if-changed={}", native.display());
    compile(&clang, &native, &headers, &out.join("native.bpf.o"));
    let mut catalog = String::from("&[\n");
    for name in names(&policies) {
        let source = policies.join(&name).join(format!("{name}.bpf.c"));
        let object = out.join(format!("{name}.bpf.o"));
        compile(&clang, &source, &headers, &object);
        let readme = policies.join(&name).join("README.md");
        writeln!(
            catalog,
            "Shipped {{ name: {name:?}, object: include_bytes!({object:?}), source: include_str!({source:?}), \
             readme: include_str!({readme:?}) }},"
        )
        .expect("a string takes everything");
    }
    catalog.push(']');
    fs::write(out.join("catalog.rs"), catalog).expect("OUT_DIR is writable");
}

fn manifest_directory() -> PathBuf {
    PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"))
}

fn fail(why: &str) -> ! {
    eprintln!("{why}");
    std::process::exit(1)
}

/// The folders that hold a policy, in order of name.
fn names(policies: &Path) -> Vec<String> {
    let entries = fs::read_dir(policies).expect("the folder policies/ is readable");
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| policies.join(name).join(format!("{name}.bpf.c")).is_file())
        .collect();
    names.sort();
    names
}

fn compile(clang: &Clang, source: &Path, headers: &Path, object: &Path) {
    let warnings = clang.compile(source, headers, object).unwrap_or_else(|why| fail(&why));
    for line in warnings.lines() {
        println!("cargo::warning={line}");
    }
}

/// Upstream's sched_ext headers, libbpf's, the kernel types, and ours, as one include folder: what policies share as
/// `schedlab/NAME.bpf.h`, the parts of a policy that is more than one file as `POLICY/NAME.bpf.h`.
fn header_tree(policies: &Path) -> Result<Tree, String> {
    let ours = policies.join("include");
    let upstream = Upstream::locate(&ours.join("upstream/Cargo.toml"))?;
    let mut tree = upstream.sched_ext()?;
    tree.append(&mut upstream.kernel()?);
    tree.append(&mut headers::folder(&ours.join("schedlab"), "schedlab/")?);
    for policy in names(policies) {
        let mut parts = headers::folder(&policies.join(&policy), &format!("{policy}/"))?;
        parts.retain(|name, _| name.ends_with(".bpf.h"));
        tree.append(&mut parts);
    }
    Ok(tree)
}
