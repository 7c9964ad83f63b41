//! Puts the files of `scenarios/` and of `studies/` into the program.

use std::{env, fs, path::Path};

fn main() {
    pack("scenarios");
    pack("studies");
}

fn pack(what: &str) {
    let of_cargo = |name| env::var(name).expect("cargo sets it");
    let folder = Path::new(&of_cargo("CARGO_MANIFEST_DIR")).join("../..").join(what);
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = fs::read_dir(&folder).expect("the folder is there");
    let mut files: Vec<_> = files.map(|entry| entry.expect("it can be read").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut list = String::from("&[\n");
    for path in files {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_stem().expect("it has one").to_string_lossy().into_owned();
        list += &format!("    Shipped {{ name: {name:?}, text: include_str!({:?}) }},\n", path.display().to_string());
    }
    list.push(']');
    let target = Path::new(&of_cargo("OUT_DIR")).join(format!("{what}.rs"));
    fs::write(target, list).expect("the build folder is writable");
}
