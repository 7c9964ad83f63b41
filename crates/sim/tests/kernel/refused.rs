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
