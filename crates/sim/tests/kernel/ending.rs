//! What a policy hears when its run is over.

use crate::{TWO, run};

const COUNTS: &str = "
    u64 inits, exits, enables, disables, quiet;
    s32 BPF_STRUCT_OPS(init_task, struct task_struct *p, struct scx_init_task_args *args) { inits++; return 0; }
    void BPF_STRUCT_OPS(exit_task, struct task_struct *p, struct scx_exit_task_args *args) { exits++; }
    void BPF_STRUCT_OPS(enable, struct task_struct *p) { enables++; }
    void BPF_STRUCT_OPS(disable, struct task_struct *p) { disables++; }
    void BPF_STRUCT_OPS(quiescent, struct task_struct *p, u64 flags) { quiet++; }
    void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags) { scx_bpf_dsq_insert(p, 5, 5000000, flags); }
    void BPF_STRUCT_OPS(disp, s32 cpu, struct task_struct *prev) { scx_bpf_dsq_move_to_local(5, 0); }
    s32 BPF_STRUCT_OPS_SLEEPABLE(begin) { return scx_bpf_create_dsq(5, -1); }
    char reason[32];
    void BPF_STRUCT_OPS_SLEEPABLE(leave, struct scx_exit_info *info)
    {
        scx_bpf_destroy_dsq(5);
        bpf_probe_read_kernel_str(reason, sizeof(reason), info->reason);
        bpf_printk(\"%llu %llu %llu %llu\", inits, exits, enables, disables);
        bpf_printk(\"%llu %d %s\", quiet, info->kind, reason);
        scx_bpf_error(\"nobody hears this\");
    }";
const COUNTS_OPERATIONS: &str = ".init_task = (void *)init_task, .exit_task = (void *)exit_task, .enable = (void *)enable, \
     .disable = (void *)disable, .quiescent = (void *)quiescent, .enqueue = (void *)enq, .dispatch = (void *)disp, \
     .init = (void *)begin, .exit = (void *)leave";

#[test]
fn all_tasks_leave_before_the_policy_does() {
    let went = run(COUNTS, COUNTS_OPERATIONS, TWO).unwrap();
    assert_eq!(went.printed[0], "2 2 2 2");
    // The running task stops wanting a CPU once, the waiting one twice: for the kernel's own queue and for good.
    assert_eq!(went.printed[1], "3 64 unregistered from user space");
}

const SLICES: &str = "
    u64 enqueues, exiting;
    void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
    {
        enqueues++;
        exiting += !!(p->flags & 4);
        scx_bpf_dsq_insert(p, 5, 1000000, flags);
    }
    void BPF_STRUCT_OPS(disp, s32 cpu, struct task_struct *prev) { scx_bpf_dsq_move_to_local(5, 0); }
    s32 BPF_STRUCT_OPS_SLEEPABLE(begin) { return scx_bpf_create_dsq(5, -1); }
    void BPF_STRUCT_OPS_SLEEPABLE(leave, struct scx_exit_info *info) { bpf_printk(\"%llu %llu\", enqueues, exiting); }";
const SLICES_OPERATIONS: &str =
    ".enqueue = (void *)enq, .dispatch = (void *)disp, .init = (void *)begin, .exit = (void *)leave";
/// Two tasks whose ends take five slices each.
const FREES: &str = "[machine]\ncpus = 1\ncosts = { exit = \"5ms\" }\n[[task]]\nname = \"a\"\ncount = 2\n\
                     once = [{ compute = \"1ms\" }]\n[run]\nduration = \"400ms\"\n";

#[test]
fn a_task_that_ends_is_the_policys_only_by_its_flag() {
    let without = crate::says(SLICES, SLICES_OPERATIONS, FREES);
    let with = crate::says(SLICES, &format!("{SLICES_OPERATIONS}, .flags = SCX_OPS_ENQ_EXITING"), FREES);
    let numbers = |said: &str| said.split(' ').map(|word| word.parse().unwrap()).collect::<Vec<u64>>();
    let ([few, none], [many, some]) =
        (numbers(&without)[..].try_into().unwrap(), numbers(&with)[..].try_into().unwrap());
    assert_eq!(none, 0u64, "{without}");
    assert!(some > 4u64 && many > few, "{without}; {with}");
}
