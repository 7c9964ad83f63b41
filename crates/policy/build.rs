//! Compiles every policy of `policies/` and packs the headers that a user's policy needs, so that the finished program
//! carries both and works where neither this checkout nor cargo is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "src/canonical.rs"]
mod canonical;
#[path = "src/clang.rs"]
#[allow(dead_code)]
mod clang;
#[path = "src/strip.rs"]
mod strip;

/// Every file of the header tree by its path there.
type Tree = BTreeMap<String, Vec<u8>>;

fn main() {
    let policies = manifest_directory().join("../../policies").canonicalize().expect("the folder policies/ is there");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for path in
        ["build.rs", "src/canonical.rs", "src/clang.rs", "src/strip.rs"].map(PathBuf::from).iter().chain([&policies])
    {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for variable in ["CLANG", "PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }

    let tree = header_tree(&policies.join("include"));
    let headers = out.join("headers");
    unpack(&tree, &headers);
    fs::write(out.join("headers.tar.zst"), pack(&tree)).expect("OUT_DIR is writable");

    let clang = clang::Clang::find().unwrap_or_else(|why| fail(&format!("cannot compile the policies: {why}")));
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

fn compile(clang: &clang::Clang, source: &Path, headers: &Path, object: &Path) {
    let output = clang.run("-c", source, headers, object).unwrap_or_else(|e| fail(&format!("cannot run clang: {e}")));
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        fail(&format!("{} does not compile:\n{messages}", source.display()));
    }
    for line in messages.lines() {
        println!("cargo::warning={line}");
    }
    let bytes = fs::read(object).expect("clang wrote an object");
    let stripped = strip::strip(&bytes).unwrap_or_else(|e| fail(&format!("{}: {e}", object.display())));
    fs::write(object, stripped).expect("OUT_DIR is writable");
}

/// Upstream's sched_ext headers, libbpf's, the kernel types, and ours, as one include folder.
fn header_tree(ours: &Path) -> Tree {
    let (scx_cargo, libbpf_sys) = upstream_sources(&ours.join("upstream/Cargo.toml"));
    let mut tree = Tree::new();
    add(&mut tree, &scx_cargo.join("bpf_h"), "");
    for name in ["bpf_core_read.h", "bpf_endian.h", "bpf_helper_defs.h", "bpf_helpers.h", "bpf_tracing.h", "usdt.bpf.h"]
    {
        let path = libbpf_sys.join("libbpf/src").join(name);
        tree.insert(format!("bpf/{name}"), read(&path));
    }
    add(&mut tree, &ours.join("schedlab"), "schedlab/");
    tree.insert("vmlinux.h".into(), kernel_types(&scx_cargo.join("vmlinux.tar.zst")));
    tree
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|e| fail(&format!("{}: {e}", path.display())))
}

fn add(tree: &mut Tree, folder: &Path, prefix: &str) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| fail(&format!("{}: {e}", folder.display())));
    for entry in entries {
        let path = entry.expect("a folder is readable to its end").path();
        let name = format!("{prefix}{}", path.file_name().expect("an entry has a name").to_string_lossy());
        if path.is_dir() {
            add(tree, &path, &format!("{name}/"));
        } else {
            tree.insert(name, read(&path));
        }
    }
}

/// Asks cargo where the sources of the two pinned packages lie; cargo downloads and checks them where they are missing.
fn upstream_sources(manifest: &Path) -> (PathBuf, PathBuf) {
    let cargo = std::env::var_os("CARGO").expect("cargo sets CARGO");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform=x86_64-unknown-linux-gnu"])
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .unwrap_or_else(|e| fail(&format!("cannot run cargo: {e}")));
    if !output.status.success() {
        fail(&format!("cannot get the headers of sched_ext:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let folder = |name: &str| {
        let packages = metadata["packages"].as_array().expect("cargo lists packages");
        let package = packages.iter().find(|package| package["name"] == name);
        let manifest = package.and_then(|package| package["manifest_path"].as_str());
        let manifest = Path::new(manifest.unwrap_or_else(|| fail(&format!("the lock file lacks {name}"))));
        manifest.parent().expect("a manifest lies in a folder").to_path_buf()
    };
    (folder("scx_cargo"), folder("libbpf-sys"))
}

/// `vmlinux.h` of x86 from upstream's archive, where it is a link to a file named after the kernel's version.
fn kernel_types(archive: &Path) -> Vec<u8> {
    let bytes = read(archive);
    let decoder = ruzstd::decoding::StreamingDecoder::new(bytes.as_slice()).expect("upstream's archive is zstd");
    let mut archive = tar::Archive::new(decoder);
    for entry in archive.entries().expect("upstream's archive is tar") {
        let mut entry = entry.expect("upstream's archive is whole");
        let path = entry.path().expect("a path").to_string_lossy().into_owned();
        if path.contains("/arch/x86/vmlinux-") && entry.header().entry_type().is_file() {
            let mut text = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut text).expect("upstream's archive is whole");
            return text;
        }
    }
    fail("upstream's archive has no vmlinux.h for x86")
}

fn unpack(tree: &Tree, folder: &Path) {
    if folder.exists() {
        fs::remove_dir_all(folder).expect("OUT_DIR is writable");
    }
    for (name, bytes) in tree {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("inside of a folder")).expect("OUT_DIR is writable");
        fs::write(path, bytes).expect("OUT_DIR is writable");
    }
}

/// One archive of the tree, the same bytes from the same files.
fn pack(tree: &Tree) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in tree {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes.as_slice()).expect("memory takes everything");
    }
    let bytes = archive.into_inner().expect("memory takes everything");
    ruzstd::encoding::compress_to_vec(bytes.as_slice(), ruzstd::encoding::CompressionLevel::Fastest)
}
