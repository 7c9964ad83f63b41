//! What a kernel refuses, in its words, and what it lets pass.

use crate::{ONE, TWO, run, run_table, says};

const NAMED: &str = ".name = \"test\"";

/// The error of a policy with these members of the table.
fn table(members: &str) -> String {
    run_table("void BPF_STRUCT_OPS(run, struct task_struct *p) {}", &format!(".running = (void *)run, {members}"), ONE)
        .unwrap_err()
}

#[test]
fn tables_are_validated() {
    let cases = [
        (".flags = 1", "a kernel refuses to attach it: it has no ops.name (EINVAL)"),
        (".name = \"my-policy\"", "ops.name \"my-policy\" has other characters"),
        (".name = \"test\", .flags = 1ULL << 40", "ops.flags has unknown bits, 0x10000000000 (EINVAL)"),
        (".name = \"test\", .timeout_ms = 60000", "ops.timeout_ms is 60000, more than 30000 (E2BIG)"),
        (".name = \"test\", .flags = SCX_OPS_ENQ_LAST", "SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented"),
        (
            ".name = \"test\", .flags = SCX_OPS_SWITCH_PARTIAL",
            "what is not simulated: flag SCX_OPS_SWITCH_PARTIAL, with which",
        ),
    ];
    for (members, expected) in cases {
        let error = table(members);
        assert!(error.contains(expected), "{members}: {error}");
    }
    let idle = "void BPF_STRUCT_OPS(idle, s32 cpu, bool idle) {}";
    let error = run(idle, ".update_idle = (void *)idle, .flags = SCX_OPS_BUILTIN_IDLE_PER_NODE", ONE).unwrap_err();
    assert!(error.contains("SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled"), "{error}");
}

/// The error of a policy whose `ops.init` is this, with flags.
fn init(body: &str, flags: &str) -> String {
    let code = format!("s32 BPF_STRUCT_OPS_SLEEPABLE(begin) {{ {body} }}");
    run(&code, &format!(".init = (void *)begin, .flags = {flags}"), ONE).unwrap_err()
}

#[test]
fn arguments_are_validated() {
    let cases = [
        ("return 1;", "0", "ops.init() returned an invalid errno 1"),
        ("return -22;", "0", "ops.init() failed (-22)"),
        (
            "scx_bpf_kick_cpu(0, SCX_KICK_IDLE | SCX_KICK_PREEMPT); return 0;",
            "0",
            "PREEMPT/WAIT cannot be used with SCX_KICK_IDLE",
        ),
        ("scx_bpf_cpuperf_set(0, 5000); return 0;", "0", "Invalid cpuperf target 5000 for CPU 0"),
        ("return scx_bpf_cpuperf_cap(777) * 0;", "0", "invalid CPU 777"),
        ("return scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | 99999) * 0;", "0", "invalid CPU 99999"),
        (
            "scx_bpf_put_idle_cpumask(scx_bpf_get_idle_cpumask()); return 0;",
            "SCX_OPS_BUILTIN_IDLE_PER_NODE",
            "SCX_OPS_BUILTIN_IDLE_PER_NODE enabled",
        ),
        (
            "scx_bpf_put_idle_cpumask(scx_bpf_get_idle_smtmask()); return 0;",
            "SCX_OPS_BUILTIN_IDLE_PER_NODE",
            "SCX_OPS_BUILTIN_IDLE_PER_NODE enabled",
        ),
        (
            "scx_bpf_put_idle_cpumask(scx_bpf_get_idle_cpumask_node(0)); return 0;",
            "0",
            "per-node idle tracking is disabled",
        ),
        (
            "scx_bpf_put_idle_cpumask(scx_bpf_get_idle_cpumask_node(7)); return 0;",
            "SCX_OPS_BUILTIN_IDLE_PER_NODE",
            "invalid node 7",
        ),
        ("scx_bpf_dsq_reenq(SCX_DSQ_LOCAL, 8); return 0;", "0", "invalid SCX_REENQ flags 0x8"),
    ];
    for (body, flags, expected) in cases {
        let error = init(body, flags);
        assert!(error.contains(expected), "{body}: {error}");
    }
}

#[test]
fn flags_of_an_insert_are_validated() {
    for (flags, queue, expected) in [
        ("1ULL << 57", "SCX_DSQ_LOCAL", "invalid enq_flags 0x2000000"),
        ("1ULL << 33", "SCX_DSQ_GLOBAL", "SCX_ENQ_IMMED on a non-local DSQ 0x8000000000000001"),
    ] {
        let code = format!(
            "void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags) {{ scx_bpf_dsq_insert(p, {queue}, 0, flags | {flags}); }}"
        );
        let error = run(&code, ".enqueue = (void *)enq", TWO).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let code = "s32 BPF_STRUCT_OPS(init_task, struct task_struct *p, struct scx_init_task_args *args)
                { p->scx.disallow = true; return 0; }";
    let error = run(code, ".init_task = (void *)init_task", TWO).unwrap_err();
    assert!(error.contains("ops.init_task() set task->scx.disallow for a/0 during fork"), "{error}");
}

/// A kernel gives an error number, or does nothing.
#[test]
fn queues_that_are_not_there_are_no_failure() {
    let code = "
        s32 BPF_STRUCT_OPS_SLEEPABLE(begin)
        {
            s32 far = scx_bpf_create_dsq(1, 5), none = scx_bpf_create_dsq(2, -2), any = scx_bpf_create_dsq(3, -1);
            scx_bpf_destroy_dsq(1234);
            bpf_printk(\"%d %d %d %d %d\", far, none, any, scx_bpf_dsq_nr_queued(SCX_DSQ_GLOBAL), scx_bpf_dsq_nr_queued(7));
            return 0;
        }";
    assert_eq!(says(code, ".init = (void *)begin", ONE), "-22 -22 0 -2 -2");
    let destroys = "
        u64 n;
        void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
        { if (n++ == 1) scx_bpf_destroy_dsq(5); scx_bpf_dsq_insert(p, 5, 1000000, flags); }
        s32 BPF_STRUCT_OPS_SLEEPABLE(begin) { return scx_bpf_create_dsq(5, -1); }";
    let error = run(destroys, ".enqueue = (void *)enq, .init = (void *)begin", TWO).unwrap_err();
    assert!(error.contains("attempting to destroy in-use dsq 0x0000000000000005 (nr=1)"), "{error}");
}

#[test]
fn names_may_be_as_a_kernel_has_them() {
    assert!(run_table("", &format!("{NAMED}, .flags = SCX_OPS_TID_TO_TASK"), ONE).is_ok());
}

/// Whether a limit is right depends on the steps before it, as in a kernel, which looks at it when it is written.
#[test]
fn a_limit_is_looked_at_when_it_is_written() {
    let code = "void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags) { scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 0, flags); }";
    let went = |steps: &str| {
        let scenario = format!(
            "[machine]\ncpus = 1\n[[control_group]]\npath = \"a\"\nmax = \"50ms\"\nburst = \"20ms\"\n[[task]]\nname = \"t\"\n\
             once = [{steps}]\n[run]\nduration = \"1s\"\n"
        );
        run(code, ".enqueue = (void *)enq", &scenario).map(|_| ())
    };
    let adjust = |what: &str| format!("{{ adjust = {{ control_group = \"a\", {what} }} }}");
    let (no_burst, less) = (adjust("burst = \"0s\""), adjust("max = \"10ms\""));
    assert_eq!(went(&format!("{no_burst}, {less}")), Ok(()));
    assert_eq!(went(&adjust("max = \"10ms\", burst = \"5ms\"")), Ok(()));
    assert_eq!(went(&adjust("max = \"max\"")), Ok(()));
    assert_eq!(went(&format!("{}, {}", adjust("max = \"90ms\""), adjust("burst = \"80ms\""))), Ok(()));
    let error = went(&format!("{{ compute = \"1ms\" }}, {less}")).unwrap_err();
    let wanted = "a step `adjust` of role 't' changes the control group `a` at 1ms to what no kernel takes: a burst of 20ms \
                  is more than the quota of 10ms: write 10ms or less";
    assert_eq!(error, wanted);
}
