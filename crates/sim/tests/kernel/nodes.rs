//! Idle CPUs by node.

#[test]
fn a_node_is_searched_before_the_others() {
    let code = "
        bool done;
        s32 BPF_STRUCT_OPS(choose, struct task_struct *p, s32 cpu, u64 flags)
        {
            const struct cpumask *all = scx_bpf_get_online_cpumask(), *idle;
            s32 a, b, in, any;
            u32 left;
            if (done) { scx_bpf_put_cpumask(all); return cpu; }
            done = true;
            a = scx_bpf_pick_idle_cpu_node(all, 1, 0);
            b = scx_bpf_pick_idle_cpu_node(all, 1, 0);
            in = scx_bpf_pick_idle_cpu_node(all, 1, SCX_PICK_IDLE_IN_NODE);
            any = scx_bpf_pick_any_cpu_node(all, 1, SCX_PICK_IDLE_IN_NODE);
            idle = scx_bpf_get_idle_cpumask_node(1);
            left = bpf_cpumask_weight(idle);
            scx_bpf_put_idle_cpumask(idle);
            bpf_printk(\"%d %d %d\", a, b, in);
            bpf_printk(\"%d %u %d\", any, left, scx_bpf_pick_idle_cpu_node(all, 1, 0));
            scx_bpf_put_cpumask(all);
            return cpu;
        }";
    for machine in ["2n2l1c1t", "2n1l2c1t"] {
        let scenario = format!(
            "[machine]\ntopology = \"{machine}\"\n[[task]]\nname = \"a\"\nonce = [{{ compute = \"1ms\" }}]\n[run]\nduration = \"9ms\"\n"
        );
        let operations = ".select_cpu = (void *)choose, .flags = SCX_OPS_BUILTIN_IDLE_PER_NODE";
        let went = crate::run(code, operations, &scenario).unwrap();
        assert_eq!(went.printed, ["2 3 -16", "2 0 0"], "{machine}");
    }
}
