//! When tasks leave queues: `ops.dequeue`, moves by an iterator, re-enqueues.

use crate::choosing::numbers;
use crate::{ONE, TWO, says};

const QUEUE: &str = "
    s32 BPF_STRUCT_OPS_SLEEPABLE(begin) { return scx_bpf_create_dsq(5, -1); }
    u64 enqueues, dequeues, others;
    void BPF_STRUCT_OPS(deq, struct task_struct *p, u64 flags) { dequeues++; if (flags) others++; }
    void BPF_STRUCT_OPS(leave, struct scx_exit_info *info) { bpf_printk(\"%llu %llu %llu\", enqueues, dequeues, others); }";
const QUEUE_OPERATIONS: &str = ".enqueue = (void *)enq, .dispatch = (void *)disp, .dequeue = (void *)deq, \
                                .init = (void *)begin, .exit = (void *)leave";
const MOVES: &str = "void BPF_STRUCT_OPS(disp, s32 cpu, struct task_struct *prev) { scx_bpf_dsq_move_to_local(5, 0); }";

/// The task that waits at the end is taken out then (`SCX_DEQ_SCHED_CHANGE`).
#[test]
fn a_policy_hears_when_a_task_leaves_its_queue() {
    let code = format!(
        "{QUEUE}{MOVES} void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
        {{ enqueues++; scx_bpf_dsq_insert(p, 5, 5000000, flags); }}"
    );
    let [enqueues, dequeues, others] = numbers::<3>(&says(&code, QUEUE_OPERATIONS, TWO));
    assert!(enqueues > 70);
    assert_eq!((dequeues, others), (enqueues, 1));
}

#[test]
fn a_task_that_goes_straight_to_the_kernel_is_never_in_custody() {
    let code = format!(
        "{QUEUE}{MOVES} void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
        {{ enqueues++; scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 5000000, flags); }}"
    );
    let [enqueues, dequeues, others] = numbers::<3>(&says(&code, QUEUE_OPERATIONS, TWO));
    assert!(enqueues > 70);
    assert_eq!((dequeues, others), (0, 0));
}

#[test]
fn a_task_that_the_policy_holds_is_in_custody() {
    let code = format!(
        "{QUEUE} u32 held;
        void BPF_STRUCT_OPS(disp, s32 cpu, struct task_struct *prev)
        {{
            struct task_struct *p = held ? bpf_task_from_pid(held) : NULL;
            if (!p)
                return;
            held = 0;
            scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 5000000, 0);
            bpf_task_release(p);
        }}
        void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags) {{ enqueues++; held = p->pid; }}"
    );
    let [enqueues, dequeues, _] = numbers::<3>(&says(&code, QUEUE_OPERATIONS, ONE));
    assert_eq!((enqueues, dequeues), (1, 1));
}

/// Nor does it matter to which CPU it goes.
#[test]
fn a_task_that_moves_to_another_cpu_leaves_custody_as_any() {
    let code = format!(
        "u64 moved; {QUEUE}{MOVES}
        void BPF_STRUCT_OPS(run, struct task_struct *p) {{ if (p->scx.dsq_vtime != scx_bpf_task_cpu(p)) moved++; }}
        void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
        {{
            enqueues++;
            p->scx.dsq_vtime = scx_bpf_task_cpu(p);
            scx_bpf_dsq_insert(p, 5, 3000000, flags);
            scx_bpf_kick_cpu(1 - scx_bpf_task_cpu(p), SCX_KICK_IDLE);
        }}"
    )
    .replace("enqueues, dequeues, others); }", "moved, dequeues - enqueues, others); }");
    let scenario = TWO.replace("cpus = 1", "cpus = 2").replace("count = 2", "count = 3");
    let operations = format!("{QUEUE_OPERATIONS}, .running = (void *)run");
    let [moved, difference, others] = numbers::<3>(&says(&code, &operations, &scenario));
    assert!(moved > 50, "{moved}");
    assert_eq!((difference, others), (0, 1), "one waits at the end");
}

/// A task that has come to the queue after the iterator is not moved by it.
#[test]
fn an_iterator_moves_no_task_that_came_back() {
    let code = "
        u64 first, again;
        void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags) { scx_bpf_dsq_insert(p, 5, 5000000, flags); }
        void BPF_STRUCT_OPS(disp, s32 cpu, struct task_struct *prev)
        {
            struct task_struct *p;
            bpf_for_each(scx_dsq, p, 5, 0) {
                first += scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, 5, 0);
                again += scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, 5, 0);
            }
            scx_bpf_dsq_move_to_local(5, 0);
        }
        s32 BPF_STRUCT_OPS_SLEEPABLE(begin) { return scx_bpf_create_dsq(5, -1); }
        void BPF_STRUCT_OPS(leave, struct scx_exit_info *info) { bpf_printk(\"%llu %llu\", first, again); }";
    let operations = ".enqueue = (void *)enq, .dispatch = (void *)disp, .init = (void *)begin, .exit = (void *)leave";
    let [first, again] = numbers::<2>(&says(code, operations, TWO));
    assert!(first > 70 && again == 0, "{first} {again}");
}

/// Those that wait go back to the policy, once each.
#[test]
fn queues_are_given_back() {
    for (id, function) in [("5", "scx_bpf_dsq_reenq(5, 0)"), ("SCX_DSQ_LOCAL", "scx_bpf_reenqueue_local()")] {
        let code = format!(
            "{QUEUE} bool asked;
            void BPF_STRUCT_OPS(disp, s32 cpu, struct task_struct *prev)
            {{ scx_bpf_dsq_move_to_local(5, 0); }}
            void BPF_STRUCT_OPS(stop, struct task_struct *p, bool runnable) {{ if (!asked) {{ asked = true; {function}; }} }}
            void BPF_STRUCT_OPS(enq, struct task_struct *p, u64 flags)
            {{ if (flags & SCX_ENQ_REENQ) others += 1000; enqueues++; scx_bpf_dsq_insert(p, {id}, 5000000, flags); }}"
        );
        let scenario = TWO.replace("count = 2", "count = 4");
        let operations = format!("{QUEUE_OPERATIONS}, .stopping = (void *)stop");
        let [_, _, others] = numbers::<3>(&says(&code, &operations, &scenario));
        assert!((2..=3).contains(&(others / 1000)), "{function}: {others}");
    }
}

#[test]
fn events_are_counted() {
    let code = "
        void BPF_STRUCT_OPS(leave, struct scx_exit_info *info)
        {
            struct scx_event_stats events;
            __builtin_memset(&events, 0, sizeof(events));
            scx_bpf_events(&events, sizeof(events));
            bpf_printk(\"%lld %lld %lld\", events.SCX_EV_DISPATCH_KEEP_LAST,
                       events.SCX_EV_REFILL_SLICE_DFL, events.SCX_EV_SELECT_CPU_FALLBACK);
        }";
    let [kept, refilled, fallbacks] = numbers::<3>(&says(code, ".exit = (void *)leave", ONE));
    assert!(kept >= 9 && refilled > kept && fallbacks == 0, "{kept} {refilled} {fallbacks}");
}
