//! References to tasks that a policy keeps in a map.

use crate::says;

/// A child after the other, each in the place of the one before if that is free.
const CHILDREN: &str = "[machine]\ncpus = 1\n[[task]]\nname = \"child\"\nat = [\"1ms\", \"20ms\", \"40ms\", \"60ms\"]\n\
                        once = [{ compute = \"2ms\" }]\n[run]\nduration = \"100ms\"\n";

/// Keeps the first child, and says at the end of how many others it has the place, whether it is still itself, and whether
/// the policy's storage of it is.
const KEEPS: &str = "
    struct held { struct task_struct __kptr *task; };
    struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct held); }
        kept SEC(\".maps\");
    struct { __uint(type, BPF_MAP_TYPE_TASK_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC); __type(key, int);
        __type(value, u64); } notes SEC(\".maps\");
    s32 first;
    u64 born, place, same;
    static struct held *held(void) { u32 key = 0; return bpf_map_lookup_elem(&kept, &key); }
    void BPF_STRUCT_OPS(enable, struct task_struct *p)
    {
        struct held *value = held();
        struct task_struct *task;
        u64 *note;

        born++;
        if (RELEASES && born == 3 && value) {
            task = bpf_kptr_xchg(&value->task, NULL);
            if (task)
                bpf_task_release(task);
        }
        if (first) {
            same += place == (u64)p;
            return;
        }
        task = bpf_task_acquire(p);
        if (!task || !value)
            return;
        note = bpf_task_storage_get(&notes, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (note)
            *note = 77;
        first = p->pid;
        place = (u64)p;
        task = bpf_kptr_xchg(&value->task, task);
        if (task)
            bpf_task_release(task);
    }
    void BPF_STRUCT_OPS(leave, struct scx_exit_info *info)
    {
        struct held *value = held();
        struct task_struct *task = value ? bpf_kptr_xchg(&value->task, NULL) : NULL;
        u64 *note;

        if (!task) {
            bpf_printk(\"%llu\", same);
            return;
        }
        note = bpf_task_storage_get(&notes, task, NULL, 0);
        bpf_printk(\"%llu %d %llu %d\", same, task->pid == first, note ? *note : 0, scx_bpf_task_running(task));
        bpf_task_release(task);
    }";
const OPERATIONS: &str = ".enable = (void *)enable, .exit = (void *)leave";

/// In a kernel it lives until the last reference is dropped, and so does what belongs to it.
#[test]
fn a_task_that_is_kept_has_its_place_until_it_is_released() {
    let code = |releases: &str| KEEPS.replace("RELEASES", releases);
    assert_eq!(says(&code("0"), OPERATIONS, CHILDREN), "0 1 77 0");
    // It is dropped when the third begins, whose place is another one already.
    assert_eq!(says(&code("1"), OPERATIONS, CHILDREN), "1");
}
