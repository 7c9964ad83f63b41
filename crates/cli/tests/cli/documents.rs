//! The commands that the documents show do what they promise.

use crate::lab::{Lab, may_virtualize};
use crate::vm::NEW;
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

/// Documents whose console blocks are run one after the other: a line `$ COMMAND`, and what it prints.
const SHOWN: [(&str, usize); 2] = [("docs/reference/trace.md", 6), ("docs/tutorial.md", 9)];

#[test]
fn documents_show_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = Path::new(env!("CARGO_BIN_EXE_schedlab")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for (document, least) in SHOWN {
        let (text, lab) = (fs::read_to_string(root.join(document)).unwrap(), Lab::new());
        let of_kind = |kind: &str| -> Vec<String> {
            let begin = format!("```{kind}\n");
            let blocks = text.split(begin.as_str()).skip(1);
            blocks.map(|rest| rest.split("```").next().unwrap().to_string()).collect()
        };
        // What the reader is told to save.
        of_kind("toml").first().iter().for_each(|file| lab.write("desk.toml", file.as_str()));
        let blocks = of_kind("console");
        for block in &blocks {
            let (command, shown) = block.strip_prefix("$ ").and_then(|block| block.split_once('\n')).unwrap();
            if command.contains("--venue vm") && !may_virtualize(&[NEW]) {
                continue;
            }
            let output = lab.shell(command, &path);
            // A block that ends so shows only the beginning: the rest is long, or of a kernel.
            match shown.strip_suffix("…\n") {
                Some(begin) => assert!(output.starts_with(begin), "{document}: {command}\n{output}"),
                None => assert_eq!(output, shown, "{document}: {command}"),
            }
        }
        assert!(blocks.len() >= least, "{document}: {} blocks", blocks.len());
    }
}
