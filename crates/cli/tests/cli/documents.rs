//! The commands that the documents show do what they promise.

use crate::lab::{Lab, may_virtualize};
use crate::vm::NEW;
use std::fs;
use std::path::{Path, PathBuf};

/// Commands of documents that are not tried, by what is in them.
const NOT_TRIED: [(&str, &str); 19] = [
    (" load ", "puts a policy in charge of the machine that runs the tests"),
    ("study gpos", "takes minutes; smaller studies have tests"),
    ("study my.toml", "is that study again"),
    (" agreement ", "has tests of its own, which take such runs"),
    (" record ", "needs rights; has tests of its own"),
    ("trace schedlab.parquet", "is what was recorded"),
    ("events.txt", "is a file of the reader's own"),
    ("-short.json", "is a file of rt-app's own"),
    ("example9.json", "is another"),
    ("mp3.toml", "is made of one"),
    ("theirs.bpf.o", "is a file of the reader's own"),
    ("--verify", "asks a kernel of that venue; has a test of its own"),
    ("exec:scx_", "is a program that the reader installs"),
    ("--venue vm", "has tests of its own, which take such runs"),
    ("--venue sim,vm", "has them, too"),
    (" gate ", "has tests of its own, which make a repository"),
    (" bisect ", "has them, too"),
    ("report history", "is what a gate left"),
    (" search ", "has tests of its own"),
];

/// The documents whose commands are tried, each in a folder of its own.
fn documents(root: &Path) -> Vec<PathBuf> {
    let of = |folder: &str| fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let policies = of("policies").map(|path| path.join("README.md"));
    let mut documents: Vec<PathBuf> = policies.chain(of("docs/reference")).chain([root.join("README.md")]).collect();
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md") && path.exists());
    documents.sort();
    documents
}

/// The commands of a text: lines of blocks, indented or between fences, that begin with the program's name. What follows two
/// spaces is a remark.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    let begins = move |line: &&str| {
        is_fenced ^= line.starts_with("```");
        let words: &[&str] = if is_fenced { &["schedlab ", "target/release/schedlab "] } else { &["    schedlab "] };
        words.iter().filter_map(|word| line.strip_prefix(word)).any(|rest| !rest.starts_with(' '))
    };
    text.lines()
        .filter(begins)
        .map(str::trim_start)
        .map(|line| line.split("  ").next().unwrap_or(line))
        .map(|line| line.strip_prefix("target/release/").unwrap_or(line))
}

/// What a reader has made before a document speaks of it: traces, a result. They are the same for all documents.
fn made_before() -> Vec<(String, Vec<u8>)> {
    let lab = Lab::new();
    for policy in ["cfs", "mlfq"] {
        let trace = format!("{policy}.parquet");
        lab.out(&["run", "moderate-load", "--policy", policy, "--duration", "2s", "--quiet", "--trace", &trace]);
    }
    let result = lab.out(&["run", "moderate-load", "--policy", "cfs", "--duration", "2s", "--quiet", "--json"]);
    lab.write("result.json", result);
    lab.files().into_iter().map(|name| (name.clone(), fs::read(lab.path(&name)).unwrap())).collect()
}

/// A folder with that, and with the folders of the checkout.
fn lab_of_a_reader(root: &Path, made: &[(String, Vec<u8>)]) -> Lab {
    let lab = Lab::new();
    for folder in ["policies", "scenarios", "scores", "studies", "sweeps"] {
        std::os::unix::fs::symlink(root.join(folder), lab.path(folder)).unwrap();
    }
    made.iter().for_each(|(name, content)| lab.write(name, content));
    lab
}

/// A tuner tries as many values as it is asked to; here two are enough.
fn with_few_trials(command: &str) -> String {
    let mut words = command.split(' ').collect::<Vec<_>>();
    if let Some(at) = words.iter().position(|word| *word == "--trials") {
        words[at + 1] = "2";
    }
    words.join(" ")
}

/// An estimate of overhead takes minutes of a machine; here its flags matter, and of their values those that do not say how
/// long it takes.
fn with_short_blocks(command: &str) -> String {
    let mut words = command.split(' ').collect::<Vec<_>>();
    for flag in ["--duration", "--blocks"] {
        if let Some(at) = words.iter().position(|word| *word == flag) {
            words.drain(at..at + 2);
        }
    }
    // Each of the 32 tasks ends a computation also next to other tests.
    format!("{} --duration 2s --blocks 2 --most-blocks 2", words.join(" "))
}

#[test]
fn commands_in_documents_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut tried, made) = (0, made_before());
    for document in documents(&root) {
        let text = fs::read_to_string(&document).unwrap();
        let lab = lab_of_a_reader(&root, &made);
        for command in commands(&text) {
            if command.contains("NAME") || NOT_TRIED.iter().any(|(part, _)| command.contains(part)) {
                continue;
            }
            let is_run = command.starts_with("schedlab run ") || command.starts_with("schedlab compare ");
            // Long enough to leave the warm-up of the longest scenario behind.
            let length = if command.contains("rr-vs-ps") { "250s" } else { "2s" };
            let short = is_run && !command.contains("--duration");
            let flags = if short { format!(" --quiet --duration {length}") } else { String::new() };
            let command = if command.starts_with("schedlab overhead") {
                with_short_blocks(command)
            } else {
                with_few_trials(command)
            };
            lab.shell(&format!("{command}{flags}"));
            tried += 1;
        }
    }
    assert!(tried >= 25, "only {tried} commands were found");
}

/// Documents whose console blocks are run one after the other: a line `$ COMMAND`, and what it prints.
const SHOWN: [(&str, usize); 2] = [("docs/reference/trace.md", 6), ("docs/tutorial.md", 9)];
/// What ends a block that shows only the beginning: the rest is long, or of a kernel.
const CUT: &str = "…\n";

/// The blocks of a kind in a document.
fn blocks<'a>(text: &'a str, kind: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!("```{kind}\n");
    let blocks: Vec<&str> = text.split(begin.as_str()).skip(1).collect();
    blocks.into_iter().map(|rest| rest.split("```").next().expect("there is a first part"))
}

/// As much of an output as a block shows that showed something else before.
fn as_shown(output: &str, shown: &str) -> String {
    if !shown.ends_with(CUT) {
        return output.to_string();
    }
    let lines = output.split_inclusive('\n').take(shown.lines().count() - 1);
    lines.chain([CUT]).collect()
}

#[test]
fn documents_show_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (document, least) in SHOWN {
        let (path, lab) = (root.join(document), Lab::new());
        let text = fs::read_to_string(&path).unwrap();
        // The files that the page asks the reader to save.
        blocks(&text, "toml").take(1).for_each(|file| lab.write("desk.toml", file));
        let (mut count, mut right) = (0, text.clone());
        for block in blocks(&text, "console") {
            count += 1;
            let (command, shown) = block.strip_prefix("$ ").and_then(|block| block.split_once('\n')).unwrap();
            if command.contains("--venue vm") && !may_virtualize(&[NEW]) {
                continue;
            }
            let output = as_shown(&lab.shell(command), shown);
            if std::env::var_os("SCHEDLAB_WRITE_DOCS").is_some() {
                right = right.replace(block, &format!("$ {command}\n{output}"));
            } else {
                assert_eq!(output, shown, "{document}: {command}; SCHEDLAB_WRITE_DOCS=1 with this test writes it");
            }
        }
        if right != text {
            fs::write(path, right).unwrap();
        }
        assert!(count >= least, "{document}: {count} blocks");
    }
}
