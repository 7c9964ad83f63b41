//! Tasks that are to run at once or go back to the policy.

use crate::choosing::numbers;
use crate::{TWO, run, says};

const IMMEDIATE: &str = "
    u64 fresh, again, preempted;
    void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
    {
        if (flags & SCX_ENQ_REENQ) {
            again++;
            if ((p->scx.flags & SCX_TASK_REENQ_REASON_MASK) == SCX_TASK_REENQ_PREEMPTED)
                preempted++;
            scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 3000000, 0);
            return;
        }
        fresh++;
        scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 3000000, flags | SCX_ENQ_IMMED);
    }
    void BPF_STRUCT_OPS(leave, struct scx_exit_info *info) { bpf_printk(\"%llu %llu %llu\", fresh, again, preempted); }";
const OPERATIONS: &str = ".enqueue = (void *)enq, .exit = (void *)leave";

/// All but the first, which finds an idle CPU, come back.
#[test]
fn a_task_that_cannot_run_at_once_comes_back() {
    let [fresh, again, preempted] = numbers::<3>(&says(IMMEDIATE, OPERATIONS, TWO));
    assert!(fresh > 100);
    assert_eq!((again, preempted), (fresh - 1, 0));
}

#[test]
fn a_task_that_a_real_time_task_preempts_comes_back() {
    let scenario = "[machine]\ncpus = 1\n[[task]]\nname = \"r\"\nclass = \"fifo:10\"\n\
                    loop = [{ sleep = \"9500us\" }, { compute = \"1ms\" }]\n[[task]]\nname = \"a\"\n\
                    loop = [{ compute = \"2ms\" }, { sleep = \"1ms\" }]\n[run]\nduration = \"100ms\"\n";
    let [fresh, again, preempted] = numbers::<3>(&says(IMMEDIATE, OPERATIONS, scenario));
    assert!(fresh > 20 && preempted >= 1 && again >= preempted, "{fresh} {again} {preempted}");
}

#[test]
fn a_policy_that_insists_has_to_go() {
    let code = IMMEDIATE.replace("3000000, 0)", "3000000, SCX_ENQ_IMMED)");
    let error = run(&code, OPERATIONS, TWO).unwrap_err();
    assert!(error.contains("SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times"), "{error}");
}

#[test]
fn a_flag_of_the_table_makes_all_inserts_such() {
    let code = IMMEDIATE
        .replace("flags | SCX_ENQ_IMMED", "flags")
        .replace("SCX_DSQ_LOCAL, 3000000, 0", "SCX_DSQ_GLOBAL, 3000000, 0");
    let operations = format!("{OPERATIONS}, .flags = SCX_OPS_ALWAYS_ENQ_IMMED");
    let [fresh, again, _] = numbers::<3>(&says(&code, &operations, TWO));
    assert!(fresh > 50 && again + 1 >= fresh, "{fresh} {again}");
}
