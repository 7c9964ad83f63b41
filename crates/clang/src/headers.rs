//! The headers that BPF programs include, gathered at build time from the packages that carry them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every file of a header tree by its path there.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// Where the packages lie that carry upstream's headers.
pub struct Upstream {
    scx_cargo: PathBuf,
    libbpf_sys: PathBuf,
}

impl Upstream {
    /// Asks cargo where the sources of the two packages lie that `manifest` pins. Nothing is downloaded here: `tools/fetch`
    /// does, and cargo checks the hashes then.
    pub fn locate(manifest: &Path) -> Result<Upstream, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args([
                "metadata",
                "--format-version=1",
                "--locked",
                "--offline",
                "--filter-platform=x86_64-unknown-linux-gnu",
            ])
            .arg("--manifest-path")
            .arg(manifest)
            .output()
            .map_err(|e| format!("cannot run cargo: {e}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the headers of sched_ext are missing: run tools/fetch, which downloads them\n{why}"));
        }
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        let folder = |name: &str| {
            let packages = metadata["packages"].as_array()?;
            let package = packages.iter().find(|package| package["name"] == name)?;
            Path::new(package["manifest_path"].as_str()?).parent().map(Path::to_path_buf)
        };
        let folder = |name: &str| folder(name).ok_or_else(|| format!("{} lacks {name}", manifest.display()));
        Ok(Upstream { scx_cargo: folder("scx_cargo")?, libbpf_sys: folder("libbpf-sys")? })
    }

    /// The kernel's types and libbpf's headers: what every BPF program needs.
    pub fn kernel(&self) -> Result<Tree, String> {
        let mut tree = Tree::new();
        for name in LIBBPF {
            let path = self.libbpf_sys.join("libbpf/src").join(name);
            tree.insert(format!("bpf/{name}"), read(&path)?);
        }
        let archive = self.scx_cargo.join("vmlinux.tar.zst");
        let types = kernel_types(&read(&archive)?).map_err(|e| format!("{}: {e}", archive.display()))?;
        tree.insert("vmlinux.h".into(), types);
        Ok(tree)
    }

    /// Upstream's headers of sched_ext.
    pub fn sched_ext(&self) -> Result<Tree, String> {
        folder(&self.scx_cargo.join("bpf_h"), "")
    }
}

const LIBBPF: [&str; 6] =
    ["bpf_core_read.h", "bpf_endian.h", "bpf_helper_defs.h", "bpf_helpers.h", "bpf_tracing.h", "usdt.bpf.h"];

/// All files below `path`, each name with `prefix` before it.
pub fn folder(path: &Path, prefix: &str) -> Result<Tree, String> {
    let mut tree = Tree::new();
    let unreadable = |e: io::Error| format!("{}: {e}", path.display());
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            tree.append(&mut folder(&path, &format!("{name}/"))?);
        } else {
            tree.insert(name, read(&path)?);
        }
    }
    Ok(tree)
}

/// Writes the tree, in the place of what was there.
pub fn unpack(tree: &Tree, folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (name, bytes) in tree {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// One archive of the tree, the same bytes from the same files.
pub fn pack(tree: &Tree) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in tree {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes.as_slice())?;
    }
    let bytes = archive.into_inner()?;
    Ok(ruzstd::encoding::compress_to_vec(bytes.as_slice(), ruzstd::encoding::CompressionLevel::Fastest))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// `vmlinux.h` of x86 from upstream's archive, where it is a link to a file named after the kernel's version.
fn kernel_types(archive: &[u8]) -> io::Result<Vec<u8>> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(archive).map_err(io::Error::other)?;
    let mut archive = tar::Archive::new(decoder);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        if path.contains("/arch/x86/vmlinux-") && entry.header().entry_type().is_file() {
            let mut text = Vec::new();
            entry.read_to_end(&mut text)?;
            return Ok(text);
        }
    }
    Err(io::Error::other("no vmlinux.h for x86"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_tree_is_the_same_bytes_and_holds_the_same_files() {
        let tree = Tree::from([("b/c.h".into(), b"two".to_vec()), ("a.h".into(), b"one".to_vec())]);
        let packed = pack(&tree).unwrap();
        assert_eq!(pack(&tree).unwrap(), packed);
        let decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap();
        let mut archive = tar::Archive::new(decoder);
        let found: Tree = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let name = entry.path().unwrap().to_string_lossy().into_owned();
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).unwrap();
                (name, bytes)
            })
            .collect();
        assert_eq!(found, tree);
    }

    #[test]
    fn a_missing_manifest_is_named() {
        let error = Upstream::locate(Path::new("no/such/Cargo.toml")).err().unwrap();
        assert!(error.contains("no/such/Cargo.toml"), "{error}");
    }
}
