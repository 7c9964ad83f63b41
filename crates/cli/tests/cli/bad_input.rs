//! Whatever is wrong: one line that says what, where and what to do, the right exit code, and nothing written.

use crate::lab::{Lab, SMALL};
use schedlab_policy::catalog;

/// Runs `small.toml` as it is, or another scenario, and expects one line on standard error with all the parts.
fn refused(lab: &Lab, args: &[&str], code: i32, parts: &[&str]) {
    let before = lab.files();
    let trace = [args, &["--trace", "trace.parquet"]].concat();
    let output = lab.run(&trace);
    assert_eq!((output.code, output.out.as_str()), (Some(code), ""), "{args:?}: {}", output.err);
    assert_eq!(output.err.lines().count(), 1, "{args:?}: {}", output.err);
    assert!(output.err.starts_with("schedlab: "), "{}", output.err);
    for part in parts {
        assert!(output.err.contains(part), "{args:?}: no {part:?} in {}", output.err);
    }
    // A policy that failed while it ran leaves a trace up to there.
    let is_new = |file: &&String| !before.contains(*file) && (code != 1 || *file != "trace.parquet");
    assert_eq!(lab.files().iter().find(is_new), None, "{args:?} has written something");
    _ = std::fs::remove_file(lab.path("trace.parquet"));
}

fn refused_scenario(content: impl AsRef<[u8]>, parts: &[&str]) {
    let lab = Lab::new();
    lab.write("bad.toml", content);
    refused(&lab, &["run", "bad.toml", "--policy", "rr"], 2, parts);
}

fn refused_policy(lab: &Lab, policy: &str, code: i32, parts: &[&str]) {
    refused(lab, &["run", "small.toml", "--policy", policy], code, parts);
}

/// The scenario `small` with one line replaced.
fn small_with(line: &str, other: &str) -> String {
    assert!(SMALL.contains(line), "{line}");
    SMALL.replace(line, other)
}

#[test]
fn scenarios_that_are_wrong_name_file_line_and_remedy() {
    refused_scenario(small_with("count = 2", "cuont = 2"), &["bad.toml:10:1", "`cuont`", "did you mean `count`?"]);
    refused_scenario(small_with("\"2s\"", "2"), &["bad.toml:14:12", "no unit", "write \"2ms\""]);
    refused_scenario(small_with("\"30ms\"", "\"-30ms\""), &["bad.toml:11:", "-30ms"]);
    refused_scenario(small_with("count = 2", "cpus = \"3-5\""), &["bad.toml:10:8", "there is no CPU 3"]);
    refused_scenario(small_with("count = 2", "count = 1000000000"), &["bad.toml:10:9", "1000000000", "at most"]);
    refused_scenario(small_with("exp(5ms)", "exp(5ms"), &["bad.toml:11:", "exp("]);
    refused_scenario("", &["bad.toml", "empty", "[[task]]"]);
    refused_scenario("\n# nothing\n", &["bad.toml", "empty"]);
    refused_scenario(b"name = \"\xff\"", &["bad.toml:1:9", "0xff", "UTF-8"]);
    refused_scenario("name = \"x\"\n[machine\n", &["bad.toml:2:"]);
}

#[test]
fn spawns_in_a_circle_are_found() {
    let text = "name = \"c\"\n[machine]\ncpus = 1\n[[task]]\nname = \"a\"\nonce = [{ spawn = \"b\" }]\n[[task]]\n\
                name = \"b\"\nspawned = true\nonce = [{ spawn = \"b\" }]\n[run]\nduration = \"1s\"\n";
    refused_scenario(text, &["bad.toml:10:", "cycle", "b → b", "break it"]);
}

#[test]
fn venues_say_what_they_cannot_run() {
    let lab = Lab::with_small();
    let run = |more: &[&str], parts: &[&str]| refused(&lab, &[&["run", "small.toml"], more].concat(), 2, parts);
    run(&["--policy", "kernel"], &["policy kernel cannot be run in the venue `sim`", "use --venue host"]);
    run(&["--policy", "mlfq", "--venue", "host"], &["policy mlfq cannot be run in the venue `host`", "--venue sim"]);
    run(&["--policy", "srpt", "--venue", "host"], &["exists in the simulator alone"]);
    run(&["--policy", "rr", "--venue", "sim,host"], &["`run` takes one venue"]);
    run(&["--policy", "rr", "--machine", "none.toml"], &["none.toml: the file cannot be read"]);
    lab.write("bad-machine.toml", "[costs]\nswitch = 5\n");
    run(&["--policy", "rr", "--machine", "bad-machine.toml"], &["bad-machine.toml:2:10", "no unit"]);
}

/// What no venue of a run looks at would be a setting that was not applied.
#[test]
fn options_that_mean_nothing_where_it_runs_are_refused() {
    let lab = Lab::with_small();
    let in_sim: [(&[&str], &str); 4] = [
        (&["--kernel", "debian:12"], "--kernel is for --venue vm and has no effect in sim"),
        (&["--engine", "qemu"], "--engine is for --venue vm and"),
        (&["--no-costs"], "--no-costs is for --venue vm and"),
        (&["--load", "fft"], "--load is for --venue host and --venue vm and has no effect in sim"),
    ];
    for (options, part) in in_sim {
        refused(&lab, &[&["run", "small.toml", "--policy", "rr"], options].concat(), 2, &[part, "leave it out"]);
    }
    lab.write("machine.toml", "[costs]\nswitch = \"1us\"\n");
    let on_host =
        [&["--tick", "4ms"][..], &["--machine", "machine.toml"], &["--executor", "machine"], &["--unchecked"]];
    for options in on_host {
        let run = ["run", "small.toml", "--policy", "kernel", "--venue", "host"];
        let part = format!("{} is for --venue sim and has no effect in host", options[0]);
        refused(&lab, &[&run[..], options].concat(), 2, &[&part]);
    }
    let ideal = ["run", "small.toml", "--policy", "ps", "--executor", "machine"];
    refused(&lab, &ideal, 2, &["--executor is for policies with a BPF program and has no effect on ps"]);
    let overhead = lab.run(&["overhead", "--kernel", "debian:12"]);
    assert_eq!(overhead.code, Some(2));
    assert!(overhead.err.contains("--kernel is for --venue vm and has no effect in host"), "{}", overhead.err);
}

#[test]
fn what_is_named_twice_or_never_used_is_refused() {
    let lab = Lab::with_small();
    let twice = "`machine.cpus` is varied twice: name it once";
    let cases: [(&[&str], &str); 5] = [
        (&["compare", "--vary", "machine.cpus=2,4", "--vary", "machine.cpus=1,2"], twice),
        (&["compare", "--cpus", "3", "--vary", "machine.cpus=2,4"], "--cpus is never used: --vary machine.cpus"),
        (&["compare", "--tick", "4ms", "--vary", "machine.hz=100,250"], "--tick is never used: --vary machine.hz"),
        (&["compare", "--duration", "1s", "--vary", "run.duration=1s,2s"], "--duration is never used"),
        (&["compare", "--venue", "sim,sim"], "the venue `sim` is named twice"),
    ];
    for (args, part) in cases {
        let output = lab.run(&[&args[..1], &["small.toml", "--policy", "rr"], &args[1..]].concat());
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{args:?}: {output:?}");
        assert!(output.err.contains(part), "{args:?}: {}", output.err);
    }
}

#[test]
fn real_programs_are_not_simulated() {
    let text = "name = \"p\"\n[machine]\ncpus = 1\n[[task]]\nname = \"p\"\ncommand = [\"true\"]\n[run]\n";
    refused_scenario(text, &["task `p` is a real program", "--venue host"]);
}

#[test]
fn scenarios_that_are_not_there() {
    let lab = Lab::new();
    refused(&lab, &["run", "heavy-laod", "--policy", "rr"], 2, &["`heavy-laod`", "did you mean `heavy-load`?"]);
    refused(&lab, &["run", "x", "--policy", "rr"], 2, &["`x`", "shipped are", "rr-vs-ps"]);
    refused(&lab, &["run", "./x.toml", "--policy", "rr"], 2, &["./x.toml", "cannot be read"]);
    refused(&lab, &["run", ".", "--policy", "rr"], 2, &[".: ", "cannot be read"]);
    refused(&lab, &["run", "heavy-load", "--policy", "rr", "--cpus", "0"], 2, &["0 is not between 1 and 4096"]);
}

/// Runs the program on a file as standard input, or on none, and expects one line with all the parts.
fn told(lab: &Lab, args: &[&str], input: Option<&str>, parts: &[&str]) {
    let mut command = lab.command(args);
    if let Some(input) = input {
        command.stdin(std::fs::File::open(lab.path(input)).unwrap());
    }
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.lines().count()), (Some(2), 1), "{args:?}: {err}");
    for part in parts {
        assert!(err.contains(part), "{args:?}: no {part:?} in {err}");
    }
}

#[test]
fn a_trace_in_place_of_a_scenario_can_be_modelled_and_predicted() {
    let lab = Lab::with_small();
    lab.out(&["run", "small.toml", "--policy", "rr", "--quiet", "--trace", "my t.parquet"]);
    std::fs::copy(lab.path("my t.parquet"), lab.path("t.toml")).unwrap();
    lab.write("empty.parquet", "");
    lab.write("other.pftrace", "neither");
    let run = |file: &str, input, parts: &[&str]| told(&lab, &["run", file, "--policy", "mlfq"], input, parts);
    let predict = "`schedlab predict 'my t.parquet' --policy mlfq`";
    run("my t.parquet", None, &["my t.parquet: this is a trace", "`schedlab model 'my t.parquet'`", predict]);
    run("t.toml", None, &["t.toml: this is a trace: `schedlab model t.toml`"]);
    run(
        "-",
        Some("t.toml"),
        &["standard input: this is a trace: `schedlab model -`", "`schedlab predict - --policy mlfq`"],
    );
    run("empty.parquet", None, &["empty.parquet: this is no trace, though its name ends in .parquet: it is empty"]);
    run("other.pftrace", None, &["other.pftrace: this is no trace", "it does not begin as one"]);
    told(&lab, &["gate", "t.toml"], None, &["t.toml: this is a trace"]);
}

#[test]
fn a_command_in_a_message_works_as_it_is() {
    let lab = Lab::with_small();
    lab.write("my gate.toml", "about = \"x\"\n[[check]]\nmetric = \"y\"\n");
    lab.write("events.txt", "nothing that anybody knows\n");
    lab.write("bin.json", b"\x01\x02\x03\x04");
    lab.write("rt.json", "{ \"tasks\": {} }");
    lab.write("empty folder/sub/x", "");
    std::fs::remove_dir_all(lab.path("empty folder/sub")).unwrap();
    told(&lab, &["run", "my gate.toml", "--policy", "rr"], None, &["`schedlab gate 'my gate.toml'` takes it"]);
    told(&lab, &["run", "-", "--policy", "rr"], Some("my gate.toml"), &["standard input: this is a gate: save it"]);
    for command in [&["predict", "-", "--policy", "rr"][..], &["check", "-"], &["trace", "-"], &["report", "-"]] {
        told(&lab, command, Some("small.toml"), &["standard input: this is a scenario: `schedlab run - --policy rr`"]);
    }
    for command in ["trace", "check"] {
        told(
            &lab,
            &[command, "events.txt"],
            None,
            &["not a trace of schedlab", "`schedlab import events.txt` makes a"],
        );
        told(
            &lab,
            &[command, "-"],
            Some("events.txt"),
            &["standard input: not a trace", "`schedlab import -` makes a"],
        );
    }
    told(&lab, &["report", "bin.json"], None, &["bin.json: neither a result nor a trace of schedlab"]);
    told(&lab, &["report", "empty folder"], None, &["`schedlab gate FILE --history 'empty folder'` adds to it"]);
    told(&lab, &["scenarios", "small.toml"], None, &["small.toml: this is a scenario: `schedlab run small.toml "]);
    told(&lab, &["scenarios", "rt.json"], None, &["rt.json: this is JSON, as of rt-app: `schedlab run rt.json "]);
    told(&lab, &["scenarios", "events.txt"], None, &["events.txt: this is a text: `schedlab import events.txt`"]);
    told(&lab, &["study", "show", "small.toml"], None, &["small.toml: this is a scenario"]);
}

#[test]
fn tasks_that_never_let_time_go_by() {
    let lab = Lab::new();
    let text = small_with("loop = [{ compute = \"30ms\" }, { sleep = \"exp(5ms)\" }]", "loop = [{ yield = true }]");
    lab.write("stuck.toml", text);
    let output = lab.run(&["run", "stuck.toml", "--policy", "rr"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("worker") || output.err.contains("stuck.toml:"), "{}", output.err);
}

#[test]
fn policies_and_parameters_that_are_not_there() {
    let lab = Lab::with_small();
    refused_policy(&lab, "mflq", 2, &["`mflq`", "did you mean `mlfq`?"]);
    refused_policy(&lab, "rr:quantom=5ms", 2, &["rr:quantom=5ms", "`quantom`", "did you mean `quantum`?"]);
    refused_policy(&lab, "rr:quantum=5", 2, &["quantum", "5ms"]);
    refused_policy(&lab, "rr:quantum=0ms", 2, &["quantum", "1us to 1000s"]);
    refused_policy(&lab, "ps:quantum=5ms", 2, &["no parameters"]);
    refused_policy(&lab, "./none.bpf.c", 2, &["./none.bpf.c"]);
    refused_policy(&lab, "./none.txt", 2, &[".bpf.c"]);
}

#[test]
fn objects_that_are_none() {
    let lab = Lab::with_small();
    let rr = catalog().iter().find(|policy| policy.name == "rr").unwrap().object;
    lab.write("empty.bpf.o", "");
    lab.write("text.bpf.o", "no object at all");
    lab.write("half.bpf.o", &rr[..rr.len() / 2]);
    let mut foreign = rr.to_vec();
    foreign[18] = 62; // e_machine: x86-64
    lab.write("foreign.bpf.o", &foreign);
    // Under another name the section is not found.
    let mut bare = rr.to_vec();
    let names: Vec<usize> = (0..rr.len() - 5).filter(|&at| &rr[at..at + 5] == b".BTF\0").collect();
    names.iter().for_each(|&at| bare[at + 1] = b'X');
    assert!(!names.is_empty());
    lab.write("bare.bpf.o", &bare);
    refused_policy(&lab, "./empty.bpf.o", 2, &["./empty.bpf.o", "empty"]);
    refused_policy(&lab, "./text.bpf.o", 2, &["./text.bpf.o", "no ELF file"]);
    refused_policy(&lab, "./half.bpf.o", 2, &["./half.bpf.o", "cut off"]);
    refused_policy(&lab, "./foreign.bpf.o", 2, &["./foreign.bpf.o", "not for BPF", "-target bpf"]);
    refused_policy(&lab, "./bare.bpf.o", 2, &["./bare.bpf.o", "no BTF", "-g"]);
}

#[test]
fn a_source_that_does_not_compile_shows_what_the_compiler_says() {
    let lab = Lab::with_small();
    lab.write("bad.bpf.c", "#include <schedlab/common.bpf.h>\nint x = nothing;\n");
    let output = lab.run(&["run", "small.toml", "--policy", "./bad.bpf.c"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(output.err.contains("./bad.bpf.c does not compile:"), "{}", output.err);
    assert!(output.err.contains("bad.bpf.c:2:9: error:"), "{}", output.err);
}

#[test]
fn policies_that_fail_name_callback_task_and_time() {
    let lab = Lab::with_small();
    let cases: [(&str, &[&str]); 6] = [
        ("wild.bpf.c", &["ops.enqueue", "worker/", "wild.bpf.c:", "outside of everything"]),
        ("endless.bpf.c", &["ops.enqueue", "worker/", "does not end"]),
        ("twice.bpf.c", &["ops.enqueue", "worker/", "twice"]),
        ("stall.bpf.c", &["worker/", "starves it"]),
        ("restless.bpf.c", &["no time goes by"]),
        ("gives_up.bpf.c", &["ops.enqueue", "enough of this"]),
    ];
    for (name, parts) in cases {
        lab.policy(name);
        refused_policy(&lab, &format!("./{name}"), 1, parts);
        refused_policy(&lab, &format!("./{name}"), 1, &["the policy failed at "]);
    }
}

/// `heavy-load` is patient for an hour, so that starvation shows. That no task ever runs is no starvation.
#[test]
fn a_policy_that_never_dispatches_is_an_error_however_patient_the_scenario_is() {
    let lab = Lab::new();
    lab.write("never.bpf.c", POLICY.replace("LICENCE", "GPL"));
    let output = lab.run(&["run", "heavy-load", "--policy", "./never.bpf.c", "--duration", "1s"]);
    assert_eq!((output.code, output.out.as_str()), (Some(1), ""));
    for part in ["failed at 1s for worker/", "ready since 0s,", "the policy never dispatches"] {
        assert!(output.err.contains(part), "{}", output.err);
    }
}

/// The core schedules real-time tasks itself, so they run under such a policy as under any other.
#[test]
fn real_time_tasks_do_not_hide_a_policy_that_never_dispatches() {
    let lab = Lab::new();
    lab.write("never.bpf.c", POLICY.replace("LICENCE", "GPL"));
    for scenario in ["priorities", "priority-inversion"] {
        let output = lab.run(&["run", scenario, "--policy", "./never.bpf.c", "--duration", "2s"]);
        assert_eq!((output.code, output.out.as_str()), (Some(1), ""), "{scenario}");
        assert!(output.err.contains("the policy never dispatches"), "{scenario}: {}", output.err);
    }
}

/// Real-time tasks that never sleep leave a policy no CPU: that is not its fault.
#[test]
fn a_policy_without_a_cpu_is_not_blamed() {
    let lab = Lab::new();
    lab.write(
        "hogs.toml",
        "name = \"hogs\"\n[machine]\ncpus = 1\n[[task]]\nname = \"hog\"\nclass = \"fifo:50\"\n\
         loop = [{ compute = \"10ms\" }]\n[[task]]\nname = \"other\"\nloop = [{ compute = \"10ms\" }]\n\
         [run]\nduration = \"500ms\"\n",
    );
    let page = lab.out(&["run", "hogs.toml", "--policy", "rr", "--quiet"]);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("No request of other ended while it was measured."), "{page}");
    assert!(words.contains("Under rr 1 task of other never got a CPU, and the longest wait was 500ms"), "{page}");
}

#[test]
fn a_licence_that_no_kernel_accepts_is_refused() {
    let lab = Lab::with_small();
    lab.write("mine.bpf.c", POLICY.replace("LICENCE", "MIT"));
    refused_policy(&lab, "./mine.bpf.c", 2, &["its licence is \"MIT\"", "GPL-compatible", "SEC(\"license\")"]);
    let about = lab.out(&["policies", "./mine.bpf.c"]);
    assert!(about.contains("cannot be simulated\n") && about.contains("its licence is"), "{about}");
}

/// A policy that takes tasks and never gives one to a CPU.
pub const POLICY: &str = "#include <schedlab/common.bpf.h>\n\
    char _license[] SEC(\"license\") = \"LICENCE\";\n\
    void BPF_STRUCT_OPS(never_enqueue, struct task_struct *p, u64 enq_flags) {}\n\
    SCX_OPS_DEFINE(never_ops, .enqueue = (void *)never_enqueue, .name = \"never\");\n";

/// What an author needs to find the fault.
#[test]
fn a_policy_that_fails_leaves_what_it_printed_and_a_trace() {
    let lab = Lab::with_small();
    let text = POLICY.replace("LICENCE", "GPL");
    let body = "{ bpf_printk(\"has %s\", p->comm); if (++calls > 3) scx_bpf_error(\"enough\"); \
                scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags); }";
    let text = text.replace("{}", body).replace("never", "mine").replace("void BPF", "static int calls;\n    void BPF");
    lab.write("mine.bpf.c", text);
    let output = lab.run(&["run", "small.toml", "--policy", "./mine.bpf.c", "--trace", "t.parquet"]);
    assert_eq!((output.code, output.out.as_str()), (Some(1), ""), "{}", output.err);
    let (printed, failed) = (output.err.find("0s: has worker"), output.err.find("schedlab: policy ./mine.bpf.c: "));
    assert!(printed.is_some() && printed < failed, "{}", output.err);
    assert!(lab.out(&["check", "t.parquet"]).contains("no invariant is violated"));
}

#[test]
fn machine_code_catches_what_it_can() {
    let lab = Lab::with_small();
    lab.policy("endless.bpf.c");
    refused(&lab, &["run", "small.toml", "--policy", "./endless.bpf.c", "--unchecked"], 1, &["does not end"]);
}

#[test]
fn an_object_that_needs_what_is_not_there() {
    let lab = Lab::with_small();
    lab.policy("exotic.bpf.c");
    refused_policy(&lab, "./exotic.bpf.c", 2, &["not simulated", "scx_bpf_not_there"]);
    let said = lab.out(&["policies", "./exotic.bpf.c"]);
    assert!(said.contains("cannot be simulated yet") && said.contains("scx_bpf_not_there"), "{said}");
    lab.policy("by_place.bpf.c");
    refused_policy(&lab, "./by_place.bpf.c", 2, &["not simulated: struct sched_ext_ops_cid"]);
    let said = lab.out(&["policies", "./by_place.bpf.c"]);
    assert!(said.contains("cannot be simulated yet") && said.contains("struct sched_ext_ops_cid"), "{said}");
    lab.policy("numbering.bpf.c");
    refused_policy(&lab, "./numbering.bpf.c", 2, &["not simulated: operation init_cids"]);
}

#[test]
fn trace_files_that_cannot_be() {
    let lab = Lab::with_small();
    let run = |trace: &str| lab.run(&["run", "small.toml", "--policy", "rr", "--trace", trace]);
    let wrong = run("trace.json");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("trace.json") && wrong.err.contains(".parquet"), "{}", wrong.err);
    let nowhere = run("no/folder/trace.txt");
    assert_eq!((nowhere.code, nowhere.out.as_str()), (Some(2), ""), "{}", nowhere.err);
    lab.write("text.parquet", "PAR1 but no more");
    lab.write("other.pftrace", "something else");
    for name in ["text.parquet", "other.pftrace", "none.parquet"] {
        let output = lab.run(&["check", name]);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
        assert!(output.err.lines().count() == 1 && output.err.contains(name), "{}", output.err);
    }
}

#[test]
fn rtapp_files_that_cannot_be_carried_over() {
    let lab = Lab::new();
    lab.write("load.json", r#"{"tasks": {"t": {"loop": 1, "memrun": 5}}}"#);
    let output = lab.run(&["scenarios", "import", "load.json"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(output.err.contains("load.json:1:") && output.err.contains("memrun"), "{}", output.err);
}
