//! The commands that the documents show do what they promise.

use crate::lab::Lab;
use std::fs;
use std::path::{Path, PathBuf};

/// The documents whose commands are tried: lines that begin with `    schedlab ` and name no file of the reader's own.
fn documents(root: &Path) -> Vec<PathBuf> {
    let policies = fs::read_dir(root.join("policies")).unwrap().map(|entry| entry.unwrap().path().join("README.md"));
    policies.chain([root.join("README.md")]).filter(|path| path.exists()).collect()
}

#[test]
fn commands_in_documents_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut tried = 0;
    for document in documents(&root) {
        let text = fs::read_to_string(&document).unwrap();
        let commands = text.lines().filter_map(|line| line.strip_prefix("    schedlab "));
        for command in commands.filter(|command| !command.contains("./") && !command.contains("NAME")) {
            let mut args: Vec<&str> = command.split_whitespace().collect();
            if matches!(args[0], "run" | "compare") {
                // Long enough to leave the warm-up of the longest scenario behind.
                args.extend(["--quiet", "--duration", if command.contains("rr-vs-ps") { "250s" } else { "2s" }]);
            }
            let output = Lab::new().command(&args).current_dir(&root).output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: schedlab {command}: {error}", document.display());
            tried += 1;
        }
    }
    assert!(tried >= 3, "only {tried} commands were found");
}
