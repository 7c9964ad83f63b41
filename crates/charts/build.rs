//! Installs the runtimes of the chart grammar, so that the finished program carries them and draws without a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What says which runtimes they are, down to the hash of every file archive.
const FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// The copy of the lock that says that all of it was installed.
const DONE: &str = "installed";

/// What the crate embeds of them.
const RUNTIMES: [&str; 2] = ["vega/build/vega.min.js", "vega-lite/build/vega-lite.min.js"];

fn main() {
    let room =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR")).join("web");
    let web = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("web");
    for name in FILES {
        println!("cargo::rerun-if-changed=web/{name}");
    }
    if !installed(&room, &web) {
        install(&room, &web);
    }
    for runtime in RUNTIMES {
        let path = web.join("node_modules").join(runtime);
        if !path.is_file() {
            fail(&format!("npm ci left no {}", path.display()));
        }
    }
}

/// Whether what is there comes from the same files: the last thing that an installation leaves is a copy of the lock.
fn installed(room: &Path, web: &Path) -> bool {
    let [package, lock] = FILES;
    let same = |from: &str, to: &str| fs::read(room.join(from)).ok() == fs::read(web.join(to)).ok();
    same(package, package) && same(lock, DONE) && web.join("node_modules").is_dir()
}

fn install(room: &Path, web: &Path) {
    let [package, lock] = FILES;
    fs::create_dir_all(web).expect("OUT_DIR is writable");
    let _ = fs::remove_file(web.join(DONE));
    for name in [package, lock] {
        fs::copy(room.join(name), web.join(name)).unwrap_or_else(|why| fail(&format!("cannot copy web/{name}: {why}")));
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let done = Command::new("npm").args(arguments).current_dir(web).output();
    let output = done.unwrap_or_else(|why| {
        fail(&format!("cannot run npm ({why}): on Debian, install the packages nodejs and npm"));
    });
    if !output.status.success() {
        fail(&format!("npm ci failed, {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    fs::copy(room.join(lock), web.join(DONE)).unwrap_or_else(|why| fail(&format!("cannot note the end: {why}")));
}

fn fail(why: &str) -> ! {
    eprintln!("schedlab-charts: {why}");
    std::process::exit(1)
}
