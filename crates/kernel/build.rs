//! Compiles the programs that the running kernel executes, so that the finished program carries them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "libbpf")]
    recorder::make();
}

#[cfg(feature = "libbpf")]
mod recorder {
    use schedlab_clang::Clang;
    use schedlab_clang::headers::{self, Upstream};
    use std::path::{Path, PathBuf};

    pub fn make() {
        println!("cargo::rerun-if-changed=bpf");
        println!("cargo::rerun-if-env-changed=CLANG");
        if let Err(why) = build() {
            eprintln!("{why}");
            std::process::exit(1);
        }
    }

    fn build() -> Result<(), String> {
        let folder = |name: &str| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
        let (crate_folder, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
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
}
