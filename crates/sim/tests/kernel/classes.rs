//! What a policy hears of tasks that have, or get, another class.

use crate::says;

#[test]
fn a_task_that_gives_itself_a_class_has_another_weight() {
    let scenario = "[machine]\ncpus = 1\n[[task]]\nname = \"r\"\n\
        once = [{ compute = \"2ms\" }, { set = { class = \"idle\" } }, { compute = \"2ms\" }, { sleep = \"5ms\" }, \
        { set = { class = \"batch\" } }, { sleep = \"5ms\" }, { set = { class = \"fifo:3\" } }, { compute = \"1ms\" }, \
        { set = { class = \"other\" } }, { sleep = \"5ms\" }]\n[run]\nduration = \"100ms\"\n";
    let code = "
        u64 told[16]; u32 n;
        void note(u64 what) { if (n < 16) told[n++ & 15] = what; }
        void BPF_STRUCT_OPS(weight, struct task_struct *p, u32 weight) { note(weight * 10 + p->policy); }
        void BPF_STRUCT_OPS(disable, struct task_struct *p) { note(9000); }
        void BPF_STRUCT_OPS(leave, struct scx_exit_info *info)
        { for (u32 i = 0; i < n && i < 16; i++) bpf_printk(\"%llu\", told[i]); }";
    let operations = ".set_weight = (void *)weight, .disable = (void *)disable, .exit = (void *)leave";
    let went = crate::run(code, operations, scenario).unwrap();
    // Enabled, idle (5), batch (3), then off to the real-time class and back.
    assert_eq!(went.printed, ["1000", "15", "1003", "9000", "1000", "9000"]);
}

const RELEASES: &str = "
    u64 releases, acquires, stops;
    void BPF_STRUCT_OPS(release, s32 cpu, struct scx_cpu_release_args *args)
    { releases++; if (args->reason == SCX_CPU_PREEMPT_STOP) stops++; }
    void BPF_STRUCT_OPS(acquire, s32 cpu, struct scx_cpu_acquire_args *args) { acquires++; }
    void BPF_STRUCT_OPS(leave, struct scx_exit_info *info) { bpf_printk(\"%llu %llu %llu\", releases, acquires, stops); }";
const RELEASE_OPERATIONS: &str =
    ".cpu_release = (void *)release, .cpu_acquire = (void *)acquire, .exit = (void *)leave";

#[test]
fn a_real_time_task_takes_no_cpu_from_a_policy_that_has_no_task_there() {
    let idle = "[machine]\ncpus = 1\n[[task]]\nname = \"r\"\nclass = \"fifo:10\"\n\
                loop = [{ compute = \"1ms\" }, { sleep = \"9ms\" }]\n[run]\nduration = \"99ms\"\n";
    assert_eq!(says(RELEASES, RELEASE_OPERATIONS, idle), "0 0 0");
    let busy = idle.replace("[run]", "[[task]]\nname = \"a\"\nloop = [{ compute = \"1ms\" }]\n[run]");
    let [releases, acquires, stops] = crate::choosing::numbers::<3>(&says(RELEASES, RELEASE_OPERATIONS, &busy));
    assert!(releases >= 9 && acquires.abs_diff(releases) <= 1 && stops == 0, "{releases} {acquires} {stops}");
}

#[test]
fn the_thread_that_drives_a_task_off_takes_the_cpu_from_the_policy() {
    let scenario = "[machine]\ncpus = 2\n[[task]]\nname = \"a\"\ncpus = \"0\"\n\
                    once = [{ compute = \"2ms\" }, { set = { cpus = \"1\" } }, { compute = \"2ms\" }]\n[run]\nduration = \"50ms\"\n";
    assert_eq!(says(RELEASES, RELEASE_OPERATIONS, scenario), "1 1 1");
}

/// Letters: `I`nit_task (with `f` for a fork), `E`nable, set_`W`eight, set_cpu`M`ask, `D`isable, e`X`it_task.
#[test]
fn a_policy_hears_of_the_life_of_real_time_tasks() {
    let code = "
        static void note(struct task_struct *p, char what) { bpf_printk(\"%s %c\", p->comm, what); }
        s32 BPF_STRUCT_OPS(init_task, struct task_struct *p, struct scx_init_task_args *args)
        { note(p, 'I'); if (args->fork) note(p, 'f'); return 0; }
        void BPF_STRUCT_OPS(exit_task, struct task_struct *p, struct scx_exit_task_args *args) { note(p, 'X'); }
        void BPF_STRUCT_OPS(enable, struct task_struct *p) { note(p, 'E'); }
        void BPF_STRUCT_OPS(disable, struct task_struct *p) { note(p, 'D'); }
        void BPF_STRUCT_OPS(weight, struct task_struct *p, u32 weight) { note(p, 'W'); }
        void BPF_STRUCT_OPS(mask, struct task_struct *p, const struct cpumask *mask) { note(p, 'M'); }";
    let operations = ".init_task = (void *)init_task, .exit_task = (void *)exit_task, .enable = (void *)enable, \
                      .disable = (void *)disable, .set_weight = (void *)weight, .set_cpumask = (void *)mask";
    let scenario = "[machine]\ncpus = 1\n[[task]]\nname = \"r\"\nclass = \"fifo:10\"\nonce = [{ compute = \"1ms\" }]\n\
        [[task]]\nname = \"n\"\nclass = \"fifo:10\"\nonce = [{ compute = \"1ms\" }, { set = { class = \"other\" } }, \
        { compute = \"1ms\" }]\n[run]\nduration = \"50ms\"\n";
    let went = crate::run(code, operations, scenario).unwrap();
    let life = |name: &str| -> String {
        let of = |line: &String| line.strip_prefix(name).map(|rest| rest.trim_start().to_string());
        went.printed.iter().filter_map(of).collect()
    };
    assert_eq!((life("r").as_str(), life("n").as_str()), ("IfX", "IfEWMDX"));
}
