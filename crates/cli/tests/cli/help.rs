//! Help and usage.

use crate::lab::Lab;

#[test]
fn the_help_is_grouped_and_that_of_each_command_fits_its_width() {
    let lab = Lab::new();
    let short = lab.out(&["-h"]);
    assert!(short.lines().count() <= 24, "{short}");
    let help = lab.out(&["help"]);
    assert_eq!(help, lab.out(&["--help"]));
    assert!(help.contains("Run and compare:\n  run "), "{help}");
    let verbs: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert!(verbs.len() >= 21, "{help}");
    for verb in verbs.into_iter().filter(|verb| *verb != "help") {
        assert!(short.contains(verb), "{verb} is missing:\n{short}");
        let help = lab.out(&[verb, "--help"]);
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert_eq!(help, lab.out(&["help", verb]));
    }
    assert!(lab.out(&["--version"]).starts_with("schedlab 0."));
}

#[test]
fn completions_and_manual_pages_are_made_from_the_flags() {
    let lab = Lab::new();
    for (shell, part) in
        [("bash", "complete -F _schedlab"), ("zsh", "#compdef schedlab"), ("fish", "complete -c schedlab")]
    {
        let text = lab.out(&["completions", shell]);
        assert!(text.contains(part) && text.contains("perturb"), "{shell}: {text}");
    }
    assert!(lab.out(&["man"]).contains(".TH schedlab 1"));
    assert!(lab.out(&["man", "pages"]).contains("manual pages are in pages"));
    for (page, part) in
        [("schedlab.1", "heavy"), ("schedlab-compare.1", "perturb"), ("schedlab-trace-queue.1", "limit")]
    {
        let text = std::fs::read_to_string(lab.path("pages").join(page)).unwrap();
        assert!(text.contains(part) || page == "schedlab.1", "{page}: {text}");
    }
}

/// Bash completes shipped names, and files where the program takes them.
#[test]
fn bash_completes_names_and_files() {
    let lab = Lab::with_small();
    lab.write("script", lab.out(&["completions", "bash"]));
    lab.write("mlfq-mine.bpf.c", "");
    let completed = |words: &[&str]| {
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let all = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let line = format!(
            ". ./script; COMP_WORDS=(schedlab {all}); COMP_CWORD={}; _schedlab schedlab '{last}' '{before}'; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.len()
        );
        let output = std::process::Command::new("bash").args(["-c", &line]).current_dir(lab.path("")).output().unwrap();
        assert!(output.stderr.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        let mut offered: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect();
        offered.sort();
        offered
    };
    assert_eq!(completed(&["run", "hea"]), ["heavy-load"]);
    assert_eq!(completed(&["run", "smal"]), ["small.toml"]);
    assert_eq!(completed(&["run", "heavy-load", "--policy", "mlf"]), ["mlfq", "mlfq-mine.bpf.c"]);
    assert_eq!(completed(&["compare", "x", "--policy", "rr,ul"]), ["rr,ule"], "a list goes on");
    assert_eq!(completed(&["compare", "x", "--policy", "rr,mlf"]), ["rr,mlfq", "rr,mlfq-mine.bpf.c"]);
    assert_eq!(completed(&["agreement", "--family", "locks,pip"]), ["locks,pipes"]);
    assert_eq!(completed(&["run", "heavy-load", "--policy", "rr,mlf"]), [""], "one policy is no list");
    assert_eq!(completed(&["policies", "mlf"]), ["mlfq", "mlfq-mine.bpf.c"]);
    assert_eq!(completed(&["policies", "new", "x", "--from", "mlf"]), ["mlfq"]);
    assert_eq!(completed(&["scenarios", "--family", "lock"]), ["locks"]);
    assert_eq!(completed(&["study", "show", "gp"]), ["gpos"]);
    assert_eq!(completed(&["score", "desk.toml", "--conf"]), [""], "a hidden option is not offered");
}

#[test]
fn man_prints_the_page_of_a_command() {
    let lab = Lab::new();
    assert!(lab.out(&["man", "run"]).contains(".TH schedlab-run 1"));
    assert!(lab.out(&["man", "trace", "queue"]).contains(".TH schedlab-trace-queue 1"));
    assert!(lab.files().is_empty(), "{:?}", lab.files());
}

#[test]
fn lists_fit_their_width() {
    let lab = Lab::new();
    for args in [&["policies"][..], &["study", "list"], &["vm", "kernels"]] {
        let list = lab.out(args);
        // A path is not broken.
        let fits = |line: &str| line.chars().count() <= 80 || line.contains('/') && !line.contains(' ');
        assert!(list.lines().all(fits), "{list}");
    }
    let new = lab.out(&["policies", "new", "--help"]);
    assert!(new.contains("NAME.gate.toml"), "{new}");
    for args in [&["trace", "--help"][..], &["run", "--help"], &["record", "--help"], &["import", "--help"]] {
        assert!(lab.out(args).contains(".perfetto-trace"), "{args:?}");
    }
}

#[test]
fn no_verb_shows_the_help_and_is_wrong_input() {
    let output = Lab::new().run(&[]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(output.err.contains("compare"), "{}", output.err);
}

#[test]
fn wrong_flags_are_one_line_with_a_remedy() {
    let lab = Lab::with_small();
    let cases: &[(&[&str], &str)] = &[
        (&["rum"], "did you mean `run`?"),
        (&["run", "small.toml"], "--policy <POLICY>"),
        (&["run", "small.toml", "--polcy", "rr"], "did you mean `--policy`?"),
        (
            &["run", "small.toml", "--policy", "rr", "--seed", "x"],
            "invalid value 'x' for '--seed <N>': not a whole number",
        ),
        (&["run", "small.toml", "--policy", "rr", "--duration", "5"], "has no unit"),
        (&["run", "small.toml", "--policy", "rr", "--runs", "0"], "0 is not between 1 and 100000"),
        (&["run", "small.toml", "--policy", "rr", "--cpus", "2", "--topology", "1n1l1c1t"], "cannot be used with"),
        (&["run", "small.toml", "--policy", "rr", "--venue", "moon"], "possible values: sim"),
        (&["run", "small.toml", "--policy", "a b"], "letters, digits"),
        (&["compare", "small.toml", "--policy", "fcfs,rr:quantum"], "KEY=VALUE"),
        (&["record"], "--seconds <TIME>"),
        (&["record", "--seconds", "0"], "a time above zero"),
        (&["record", "--seconds", "1d"], "not a unit of time"),
        (&["load"], "<POLICY>"),
        (&["load", "rr", "--seconds", "0ms"], "a time above zero"),
        (&["run", "small.toml", "--policy", "rr,mlfq"], "`compare` takes several"),
        (&["run", "small.toml", "--policy", "rr", "--report", "page.txt"], "ends in .html"),
        (&["gate", "-"], "standard input has no folder"),
        (&["record", "--ring", "5", "--", "true"], "write it as 512KiB or 64MiB"),
        (&["record", "--seed", "1", "--", "true"], "there is no option `--seed`; see `schedlab record --help`"),
        (&["scenarios", "heavy-load", "--write", "x"], "cannot be used with"),
        (&["scenarios", "heavy-load", "--cpus", "2"], "cannot be used with"),
        (&["scenarios", "heavy-load", "--seed", "2"], "cannot be used with"),
        (&["scenarios", "--seed", "2"], "--family <FAMILY>"),
        (&["man", "trace", "quue"], "`schedlab trace` has no command `quue`"),
    ];
    for (args, part) in cases {
        let output = lab.run(args);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{args:?}: {}", output.err);
        assert!(output.err.lines().count() == 1 && output.err.contains(part), "{args:?}: {}", output.err);
    }
}
