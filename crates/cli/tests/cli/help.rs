//! Help and usage.

use crate::lab::Lab;

#[test]
fn the_help_fits_a_screen_and_those_of_the_verbs_fit_its_width() {
    let lab = Lab::new();
    let help = lab.out(&["--help"]);
    assert!(help.lines().count() <= 24, "{help}");
    for verb in [
        "run",
        "compare",
        "policies",
        "scenarios",
        "study",
        "overhead",
        "quota",
        "sweep",
        "report",
        "agreement",
        "schema",
        "check",
        "record",
        "import",
        "trace",
        "model",
        "predict",
        "load",
    ] {
        assert!(help.contains(&format!("\n  {verb} ")), "{verb} is missing:\n{help}");
        let help = lab.out(&[verb, "--help"]);
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
    assert!(lab.out(&["--version"]).starts_with("schedlab 0."));
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
        (&["rum"], "'run'"),
        (&["run", "small.toml"], "--policy <POLICY>"),
        (&["run", "small.toml", "--polcy", "rr"], "'--policy'"),
        (&["run", "small.toml", "--policy", "rr", "--seed", "x"], "invalid value 'x' for '--seed <N>'"),
        (&["run", "small.toml", "--policy", "rr", "--duration", "5"], "has no unit"),
        (&["run", "small.toml", "--policy", "rr", "--runs", "0"], "0 is not in 1.."),
        (&["run", "small.toml", "--policy", "rr", "--cpus", "2", "--topology", "1n1l1c1t"], "cannot be used with"),
        (&["run", "small.toml", "--policy", "rr", "--venue", "moon"], "possible values: sim"),
        (&["run", "small.toml", "--policy", "a b"], "letters, digits"),
        (&["compare", "small.toml", "--policy", "fcfs,rr:quantum"], "KEY=VALUE"),
        (&["record"], "--seconds <N>"),
        (&["record", "--seconds", "0"], "0 is not in 1.."),
        (&["load"], "<POLICY>"),
        (&["load", "rr", "--seconds", "0"], "0 is not in 1.."),
        (&["record", "--ring", "5", "--", "true"], "write it as 512KiB or 64MiB"),
    ];
    for (args, part) in cases {
        let output = lab.run(args);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{args:?}: {}", output.err);
        assert!(output.err.lines().count() == 1 && output.err.contains(part), "{args:?}: {}", output.err);
    }
}
