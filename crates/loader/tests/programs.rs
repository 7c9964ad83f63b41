//! Programs of this machine under the supervisor.

use schedlab_loader::*;
use std::path::PathBuf;

struct NoBpf;

impl System for NoBpf {
    fn bpf(&mut self, _: &Caller<'_>, _: u32, _: u64, _: u32) -> Reply {
        Reply::Stop
    }
}

fn libraries() -> Vec<PathBuf> {
    let names = ["libc.so.6", "libm.so.6", "libselinux.so.1", "libpcre2-8.so.0", "libgcc_s.so.1"];
    let mut found: Vec<PathBuf> = vec!["/lib64/ld-linux-x86-64.so.2".into()];
    for folder in ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64"] {
        found.extend(names.iter().map(|name| PathBuf::from(folder).join(name)));
    }
    found
}

fn start(words: &[&str]) -> Supervisor {
    let mut files = Files::default();
    files.file("/sys/devices/system/cpu/online", "0-2\n");
    files.folder("/sys/devices/system/cpu/cpu1");
    files.folder("/sys/devices/system/cpu/cpu0");
    let command = Command {
        words: words.iter().map(Into::into).collect(),
        folder: "/".into(),
        reads: libraries(),
        files,
        cpus: 3,
        release: "7.2.0".into(),
        seed: 1,
        most_calls: 10_000,
    };
    Supervisor::start(command).unwrap()
}

fn run(words: &[&str]) -> (Stand, String) {
    let mut supervisor = start(words);
    let stand = supervisor.run(&mut NoBpf, u64::MAX).unwrap();
    (stand, supervisor.tail())
}

#[test]
fn a_program_that_goes_round_for_ever_is_ended_by_the_calls_that_it_makes() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("spin.c"), folder.path().join("spin"));
    std::fs::write(&source, "#include <sched.h>\nint main(void) { for (;;) sched_yield(); }\n").unwrap();
    assert!(std::process::Command::new("cc").arg("-o").args([&program, &source]).status().unwrap().success());
    let mut supervisor = start(&[program.to_str().unwrap()]);
    let error = supervisor.run_to_stop(&mut NoBpf).unwrap_err();
    assert_eq!(error.to_string(), "it made 10000 system calls and was not ready");
    // A lone thread that gives up its CPU lets time pass.
    assert!(supervisor.now_ns() > 1_010_000_000);
}

/// Compiles a program of C, and runs it.
fn run_c(text: &str) -> (Stand, String) {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&source, text).unwrap();
    assert!(std::process::Command::new("cc").arg("-o").args([&program, &source]).status().unwrap().success());
    run(&[program.to_str().unwrap()])
}

#[test]
fn a_program_takes_no_more_memory_than_its_machine_has() {
    let head = "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
                #include <sys/mman.h>\n#include <unistd.h>\nint main(void) { unsigned n = 0; char name[32];\n";
    let count = |body: &str| run_c(&format!("{head}{body} printf(\"%u\\n\", n); }}"));
    let private = "while (n < 4096 && malloc(64 << 20)) n++;";
    let shared = "while (n < 4096 && mmap(0, 64 << 20, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) n++;";
    let in_memory = "while (n < 4096 && memfd_create(\"m\", 0) >= 0) n++;";
    let files =
        "for (; n < 4096; n++) { sprintf(name, \"/tmp/%u\", n); if (open(name, O_CREAT | O_RDWR, 0600) < 0) break; }";
    for (body, wanted) in [(private, 120..=128), (shared, 16..=16), (in_memory, 32..=32), (files, 32..=32)] {
        let (stand, text) = count(body);
        assert_eq!(stand, Stand::Ended("status 0".into()), "{text}");
        let n: u32 = text.trim_start_matches("; it printed:\n").parse().unwrap();
        assert!(wanted.contains(&n), "{body}: {n}");
    }
    // What is mapped is not there yet: nothing of it is taken until it is touched.
    let (stand, text) =
        run_c("#include <sys/mman.h>\nint main(void) { return mmap(0, 2L << 30, 3, 0x21, -1, 0) == MAP_FAILED; }");
    assert_eq!(stand, Stand::Ended("status 1".into()), "{text}");
}

#[test]
fn time_machine_and_files_are_those_that_were_made() {
    let printed = |words: &[&str]| {
        let (stand, text) = run(words);
        assert_eq!(stand, Stand::Ended("status 0".into()), "{text}");
        text.trim_start_matches("; it printed:\n").to_string()
    };
    assert_eq!(printed(&["/bin/date", "-u", "+%F %T"]), "2026-01-01 00:00:01");
    assert_eq!(printed(&["/usr/bin/nproc"]), "3");
    assert_eq!(printed(&["/bin/uname", "-r"]), "7.2.0");
    assert_eq!(printed(&["/bin/ls", "/sys/devices/system/cpu"]), "cpu0\ncpu1\nonline");
    assert_eq!(printed(&["/bin/cat", "/sys/devices/system/cpu/online"]), "0-2");
    assert_eq!(printed(&["/bin/sleep", "3600"]), "");
}
