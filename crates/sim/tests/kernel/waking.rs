//! On which CPU the operations of a waking task run.

use crate::choosing::numbers;
use crate::says;

/// A task on the first CPU wakes one on the second, which idles.
const WAKES: &str = "[machine]\ncpus = 2\n[semaphore.s]\n\
    [[task]]\nname = \"waker\"\ncpus = \"0\"\nloop = [{ compute = \"1ms\" }, { post = \"s\" }, { sleep = \"1ms\" }]\n\
    [[task]]\nname = \"wakee\"\ncpus = \"1\"\nloop = [{ wait = \"s\" }, { compute = \"100us\" }]\n\
    [run]\nduration = \"20ms\"\n";

/// For `runnable` and `enqueue` of a task of the second CPU, the CPU that runs them, whose queue is locked and which task is current.
const CODE: &str = "
    u32 became_on, became_by, queued_on, queued_by, locked;
    void note(u32 *on, u32 *by)
    {
        struct task_struct *current = bpf_get_current_task_btf();
        *on = bpf_get_smp_processor_id();
        *by = current->comm[4] == 'r';
    }
    void BPF_STRUCT_OPS(become, struct task_struct *p, u64 flags)
    {
        if (flags & SCX_ENQ_WAKEUP && scx_bpf_task_cpu(p) == 1)
            note(&became_on, &became_by);
    }
    void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
    {
        if (flags & SCX_ENQ_WAKEUP && scx_bpf_task_cpu(p) == 1) {
            note(&queued_on, &queued_by);
            struct rq *rq = scx_bpf_locked_rq();
            locked = rq ? rq->cpu : 99;
        }
        scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 5000000, flags);
    }
    void BPF_STRUCT_OPS(leave, struct scx_exit_info *info)
    { bpf_printk(\"%u %u %u %u %u\", became_on, became_by, queued_on, queued_by, locked); }";

const OPERATIONS: &str = ".runnable = (void *)become, .enqueue = (void *)enq, .exit = (void *)leave";

#[test]
fn the_cpu_that_wakes_a_task_enqueues_it() {
    assert_eq!(numbers(&says(CODE, OPERATIONS, WAKES)), [0, 1, 0, 1, 1]);
}

#[test]
fn an_idle_cpu_enqueues_a_task_itself_if_the_policy_allows() {
    let operations = format!("{OPERATIONS}, .flags = SCX_OPS_ALLOW_QUEUED_WAKEUP");
    assert_eq!(numbers(&says(CODE, &operations, WAKES)), [1, 0, 1, 0, 1]);
}
