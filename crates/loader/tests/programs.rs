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
    let made = std::process::Command::new("cc").args(["-pthread", "-o"]).args([&program, &source]).status();
    assert!(made.unwrap().success());
    run(&[program.to_str().unwrap()])
}

/// What a program of C prints and ends with.
fn printed_by(text: &str) -> String {
    let (stand, printed) = run_c(text);
    assert_eq!(stand, Stand::Ended("status 0".into()), "{printed}");
    printed.trim_start_matches("; it printed:\n").to_string()
}

#[test]
fn no_descriptor_sends_signals_to_others() {
    let text = "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n\
                int main(void) { int p[2], n[5]; pipe(p); n[0] = fcntl(p[0], F_SETOWN, getppid());\n\
                n[1] = fcntl(p[0], F_SETSIG, 9); n[2] = fcntl(p[0], F_SETFL, O_ASYNC);\n\
                n[3] = fcntl(p[0], F_SETFL, O_NONBLOCK); n[4] = fcntl(p[0], F_GETFL) & (O_ASYNC | O_NONBLOCK);\n\
                printf(\"%d %d %d %d %d\\n\", n[0], n[1], n[2], n[3], n[4]); }";
    assert_eq!(printed_by(text), "-1 -1 -1 0 2048");
}

#[test]
fn a_signal_ends_a_wait_and_its_handler_runs_in_turn() {
    let text = "#include <errno.h>\n#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n#include <time.h>\n\
                static int handled;\nstatic void handle(int signal) { handled = signal; }\n\
                static void *wait(void *nothing) { struct timespec long_time = { 1000, 0 };\n\
                int result = nanosleep(&long_time, 0); printf(\"%d %d %d\\n\", result, errno == EINTR, handled == SIGUSR1);\n\
                return 0; }\n\
                int main(void) { struct timespec a_while = { 0, 1000000 }; pthread_t thread;\n\
                struct sigaction action = { .sa_handler = handle }; sigaction(SIGUSR1, &action, 0);\n\
                pthread_create(&thread, 0, wait, 0); nanosleep(&a_while, 0); pthread_kill(thread, SIGUSR1);\n\
                pthread_join(thread, 0); return 0; }";
    assert_eq!(printed_by(text), "-1 1 1");
}

#[test]
fn a_program_outlives_its_first_thread() {
    let text = "#include <pthread.h>\n#include <stdio.h>\n#include <time.h>\n\
                static void *work(void *nothing) { struct timespec a_while = { 1, 0 }; nanosleep(&a_while, 0);\n\
                puts(\"done\"); fflush(stdout); return 0; }\n\
                int main(void) { pthread_t thread; pthread_create(&thread, 0, work, 0); pthread_exit(0); }";
    assert_eq!(printed_by(text), "done");
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
