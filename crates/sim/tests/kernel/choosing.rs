//! Which task runs next, and what callbacks hear of it.

use crate::{ONE, TWO, run, says};

/// The task that loses its CPU goes before the other one, but only after that has been chosen.
#[test]
fn the_next_task_is_chosen_before_the_previous_one_is_put_back() {
    for flag in ["SCX_ENQ_HEAD", "SCX_ENQ_PREEMPT"] {
        let code = format!(
            "void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags) {{ scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 5000000, flags | {flag}); }}"
        );
        let went = run(&code, ".enqueue = (void *)enq", TWO).unwrap();
        let turns = [0, 1].map(|task| went.turns(task));
        assert!(turns[0].abs_diff(turns[1]) <= 1 && turns[0] >= 39, "{flag}: {turns:?}");
    }
}

/// A slice that comes with the flag is not taken by it.
#[test]
fn a_task_does_not_preempt_itself() {
    let code = "
        u64 began, longest;
        void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
        { scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 5000000, flags | SCX_ENQ_PREEMPT); }
        void BPF_STRUCT_OPS(run, struct task_struct *p) { began = scx_bpf_now(); }
        void BPF_STRUCT_OPS(stop, struct task_struct *p, bool runnable)
        { if (scx_bpf_now() - began > longest) longest = scx_bpf_now() - began; }
        void BPF_STRUCT_OPS(leave, struct scx_exit_info *info) { bpf_printk(\"%llu\", longest); }";
    let operations = ".enqueue = (void *)enq, .running = (void *)run, .stopping = (void *)stop, .exit = (void *)leave";
    assert_eq!(says(code, operations, TWO), "5000000");
}

/// A CPU that looks for its next task takes the slice of no task.
#[test]
fn nothing_is_preempted_on_a_cpu_that_chooses() {
    let code = "
        u64 given, first; s32 who;
        void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags) { scx_bpf_dsq_insert(p, 0, 3000000, flags); }
        void BPF_STRUCT_OPS(disp, s32 cpu, struct task_struct *prev)
        {
            struct task_struct *p;
            if (!scx_bpf_dsq_nr_queued(0))
                return;
            if (prev) {
                scx_bpf_task_set_slice(prev, 40000000);
                given = scx_bpf_now();
                who = prev->pid;
            }
            bpf_for_each(scx_dsq, p, 0, 0) {
                scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, SCX_ENQ_PREEMPT);
                break;
            }
        }
        void BPF_STRUCT_OPS(stop, struct task_struct *p, bool runnable)
        {
            if (who == p->pid && !first)
                first = scx_bpf_now() - given;
        }
        s32 BPF_STRUCT_OPS_SLEEPABLE(begin) { return scx_bpf_create_dsq(0, -1); }
        void BPF_STRUCT_OPS(leave, struct scx_exit_info *info) { bpf_printk(\"%llu\", first); }";
    let operations = ".enqueue = (void *)enq, .dispatch = (void *)disp, .stopping = (void *)stop, \
                      .init = (void *)begin, .exit = (void *)leave";
    assert_eq!(says(code, operations, TWO), "40000000");
}

const LAST: &str = "
    u64 lasts, idles, runs;
    void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
    {
        if (flags & SCX_ENQ_LAST)
            lasts++;
        scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 10000000, flags);
    }
    void BPF_STRUCT_OPS(idle, s32 cpu, bool idle) { idles += idle; }
    void BPF_STRUCT_OPS(run, struct task_struct *p) { runs++; }
    void BPF_STRUCT_OPS(leave, struct scx_exit_info *info) { bpf_printk(\"%llu %llu %llu\", lasts, idles, runs); }";
const LAST_OPERATIONS: &str = ".enqueue = (void *)enq, .update_idle = (void *)idle, .running = (void *)run, \
                               .exit = (void *)leave, .flags = SCX_OPS_ENQ_LAST | SCX_OPS_KEEP_BUILTIN_IDLE";

/// The CPU has decided to idle when the last task is put back.
#[test]
fn a_cpu_idles_before_it_goes_on_with_its_last_task() {
    let [lasts, idles, runs] = numbers(&says(LAST, LAST_OPERATIONS, ONE));
    assert!(lasts >= 18, "{lasts}");
    // Idle once before the first task, too.
    assert_eq!((idles, runs), (lasts + 1, lasts + 1));
}

#[test]
fn a_task_is_not_the_last_one_if_a_real_time_task_follows() {
    let scenario = "[machine]\ncpus = 1\n[[task]]\nname = \"r\"\nclass = \"fifo:10\"\n\
                    loop = [{ compute = \"1ms\" }, { sleep = \"9ms\" }]\n[[task]]\nname = \"a\"\n\
                    loop = [{ compute = \"10ms\" }]\n[run]\nduration = \"200ms\"\n";
    let code = LAST.replace(
        "u64 lasts, idles, runs;",
        "u64 lasts, idles, runs;
         void BPF_STRUCT_OPS(release, s32 cpu, struct scx_cpu_release_args *args) { idles += 100; }",
    );
    let code = code.replace("10000000, flags", "9000000, flags");
    let operations = format!("{LAST_OPERATIONS}, .cpu_release = (void *)release");
    let [lasts, ..] = numbers::<3>(&says(&code, &operations, scenario));
    assert_eq!(lasts, 0, "each slice ends when the real-time task wakes");
}

/// Numbers in a line.
pub fn numbers<const N: usize>(line: &str) -> [u64; N] {
    let all: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
    all.try_into().unwrap_or_else(|_| panic!("{line}"))
}
