/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * windows - the thread dispatcher of Windows Server 2003 and Vista, for one group of CPUs.
 *
 * The ready thread of the highest of 31 levels runs; threads of one level take turns. What a thread has waited for may
 * raise it above its base, and each quantum that it uses up takes one level back (see priority_boost.bpf.h). A thread
 * of a higher level that becomes ready preempts; the preempted one stays at the head of its level and keeps the rest of
 * its quantum.
 *
 * A thread has an ideal CPU, dealt out in turn. When it becomes ready it goes to an idle CPU, its ideal one first; when
 * none is idle it queues on its ideal CPU, or preempts there, whatever runs on the others. A CPU that runs dry takes a
 * thread from the CPU with most. Nothing else moves a thread.
 *
 * Example, one CPU, quantum 36 units = 187.5 ms: A (base 8) computes. B (base 8) gets a message from the network and
 * runs at once on level 10, after 187.5 ms on 9, after another 187.5 ms on 8. From then on they take turns.
 *
 * Weakness: tasks that all start on one CPU stay, except for one on each other CPU (7 tasks on 2 CPUs: 6 and 1), and
 * a level that is always busy starves those below, except for two ticks every few seconds that a scan gives them.
 *
 * Source: Happe et al., the study of general-purpose operating-system schedulers (2009), which describes and measures
 * it; M. E. Russinovich, D. A. Solomon, A. Ionescu, "Windows Internals"; and ReactOS, an independent kernel of the same
 * design, where the books give no number. README.md says what they leave open.
 */
#include <schedlab/common.bpf.h>
#include <windows/priority_boost.bpf.h>
#include <schedlab/priority_queue.bpf.h>

char _license[] SEC("license") = "GPL";

/* Relief for threads that starve. */
PARAMETER(bool, scan, true, "about=Whether the balance set manager scans for starving threads.");
PARAMETER(u64, scan_period, NS_PER_S,
	  "unit=ns range=1ms..1000s about=How often the balance set manager scans, one CPU each time.");
PARAMETER(u32, wait_limit_ticks, 300,
	  "range=1..1000000 about=Clock ticks after which a ready thread counts as starving.");
PARAMETER(u32, scan_boost, 0,
	  "choices=version,units(boost_units),factor(boost_factor),paper about=The quantum of a starving thread: 4 "
	  "units in Server 2003 and 3 in Vista; `boost_units`; `boost_factor` times its normal quantum; or 60 ms every "
	  "4 s, as in the study.");
PARAMETER(u32, boost_units, 4, "range=1..1000 about=The units that a starving thread gets with `scan_boost=units`.");
PARAMETER(u32, boost_factor, 2,
	  "range=1..100 about=How many normal quantums a starving thread gets with `scan_boost=factor`.");
enum { SCAN_VERSION, SCAN_UNITS, SCAN_FACTOR, SCAN_PAPER };

/* Several CPUs. */
PARAMETER(u32, ideal, 0,
	  "choices=cyclic,last about=A thread's ideal CPU: assigned in turn, or the one on which it ran last.");
PARAMETER(u32, pull, 0,
	  "choices=busiest,highest about=Which thread a CPU without ready threads takes: one from the CPU with the "
	  "most ready threads, or the one with the highest priority.");
PARAMETER(u32, timers, 0,
	  "choices=local,at(clock_cpu) about=Where a thread is when the clock wakes it: on the CPU where it went to "
	  "sleep, or always on `clock_cpu`.");
PARAMETER(u32, clock_cpu, 0, "range=0..4095 about=The CPU on which the clock wakes threads with `timers=at`.");
enum { IDEAL_CYCLIC, IDEAL_LAST };
enum { PULL_BUSIEST, PULL_HIGHEST };
enum { TIMERS_LOCAL, TIMERS_AT };

#define MAX_CPUS 4096
#define SCAN_EXAMINES 16 /* threads, in one scan */
#define SCAN_RAISES 10

/* The ideal CPU that was dealt out last in a process. A process that is forgotten begins again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u32);
} thread_seeds SEC(".maps");

/* The balance set manager's timer. */
struct manager {
	struct bpf_timer timer;
	u32 cpu; /* to be looked at next */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct manager);
} managers SEC(".maps");

/*
 * The priority is that of the thread that runs on a CPU, or was sent there and will run next; 0 when the CPU is idle.
 * It is read without a lock. A wrong one costs a look into the queue, or a wait until the next one.
 */
struct processor {
	u32 priority;
	u32 scan_level; /* where the last scan stopped */
};

static struct processor processors[MAX_CPUS];
static u32 nr_cpus;
static u32 process_seed;

static u32 cpu_priority(s32 cpu)
{
	struct processor *processor = ELEMENT(processors, cpu);

	return processor ? processor->priority : 0;
}

static void cpu_set_priority(s32 cpu, u32 priority)
{
	struct processor *processor = ELEMENT(processors, cpu);

	if (processor)
		processor->priority = priority;
}

/* Ready threads wait in one dispatch queue for each CPU, the highest first. */
static u64 level_of(u32 priority)
{
	return HIGHEST - priority;
}

static u32 priority_of(const struct task_struct *p)
{
	return HIGHEST - key_level(p->scx.dsq_vtime);
}

/* The priority of the first thread that waits for @cpu, 0 when there is none. */
static u32 ready_priority(s32 cpu)
{
	struct task_struct *p;

	if (!scx_bpf_dsq_nr_queued(cpu))
		return 0;
	p = __COMPAT_scx_bpf_dsq_peek(cpu);
	return p ? priority_of(p) : 0;
}

static bool claim_idle(const struct task_struct *p, s32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && scx_bpf_test_and_clear_cpu_idle(cpu);
}

/* The CPU for a thread that becomes ready: an idle one, else its ideal one. */
static s32 ready_cpu(const struct task_struct *p, const struct thread *t, s32 last, s32 here)
{
	s32 wanted = ideal == IDEAL_LAST ? last : t->ideal, cpu;

	if (claim_idle(p, wanted))
		return wanted;
	if (last != wanted && claim_idle(p, last))
		return last;
	if (here != last && here != wanted && claim_idle(p, here))
		return here;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		return cpu;
	return bpf_cpumask_test_cpu(wanted, p->cpus_ptr) ? wanted : last;
}

/*
 * A thread waits for @cpu: wake it, or preempt what runs there if that is lower. From now on the CPU counts as busy
 * with the thread, so that two which become ready at one instant do not both rely on it.
 */
static void claim_cpu(s32 cpu, u32 priority)
{
	u32 running = cpu_priority(cpu);

	if (priority <= running)
		return;
	cpu_set_priority(cpu, priority);
	scx_bpf_kick_cpu(cpu, running ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
}

s32 BPF_STRUCT_OPS(windows_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct thread *t = thread_of(p);
	s32 here = bpf_get_smp_processor_id();

	if (!t)
		return prev_cpu;
	note_waker(t);
	if (timers == TIMERS_AT && wake_source(p) == WAKE_TIMER && clock_cpu < nr_cpus)
		here = clock_cpu;
	return ready_cpu(p, t, prev_cpu, here);
}

/*
 * A thread that had a CPU and wants to continue: at the end of its turn it goes to the tail of its new level, after a
 * preemption to the head of its old one with the rest of its quantum. It stays on its CPU unless another one is idle. A
 * thread that may not stay there was not preempted: it goes to the tail of its level elsewhere.
 */
static void requeue(struct task_struct *p, struct thread *t, u64 now)
{
	if (turn_is_over(t)) {
		end_quantum(p, t);
		t->yielded = false;
		t->key = key_tail(level_of(t->priority), now - epoch);
	} else {
		t->key = t->interrupted ? key_tail(level_of(t->priority), now - epoch) :
					  key_head(level_of(t->priority), now - epoch);
	}
	kick_idle_cpu(p->cpus_ptr);
}

void BPF_STRUCT_OPS(windows_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct thread *t = thread_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	u64 now = scx_bpf_now();
	bool ran;

	if (!t) {
		/* Cannot be: init_task() made it or refused the task. */
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	ran = t->state == RAN && !(enq_flags & SCX_ENQ_WAKEUP);
	if (enq_flags & SCX_ENQ_WAKEUP) {
		if (!(enq_flags & SCX_ENQ_CPU_SELECTED))
			note_waker(t); /* it may run on one CPU only */
		unwait(p, t);
	}
	if (ran)
		requeue(p, t, now);
	else if (t->state != READY || key_level(t->key) != level_of(t->priority))
		t->key = key_tail(level_of(t->priority), now - epoch);
	/* Otherwise something about a waiting thread was changed, and it goes back to where it was. */
	if (t->state != READY)
		t->ready_since = now;
	t->state = READY;
	t->interrupted = false;
	/* How long it may run depends on when it begins: running() says. */
	scx_bpf_dsq_insert_vtime(p, cpu, SCX_SLICE_DFL, t->key, enq_flags);
	if (!ran)
		claim_cpu(cpu, t->priority);
}

/* The CPU from which a dry @cpu takes a thread, -1 when none waits. */
static s32 victim_of(s32 cpu)
{
	u32 most = 0, other;
	s32 from = -1;

	bpf_for(other, 0, nr_cpus) {
		u32 waiting = scx_bpf_dsq_nr_queued(other), level;

		if (waiting && pull == PULL_HIGHEST) {
			level = first_level(other, cpu);
			waiting = level == NO_LEVEL ? 0 : HIGHEST - level;
		}
		if (waiting > most) {
			most = waiting;
			from = other;
		}
	}
	return from;
}

/* Takes the highest thread of another CPU; from any, if none of the first choice may run here. */
static bool pull_thread(s32 cpu)
{
	s32 from = victim_of(cpu);
	u32 other;

	if (from < 0)
		return false;
	if (scx_bpf_dsq_move_to_local(from, 0))
		return true;
	bpf_for(other, 0, nr_cpus) {
		if (scx_bpf_dsq_move_to_local(other, 0))
			return true;
	}
	return false;
}

/* The thread that ran continues. Without others a yield does nothing, and the end of a quantum begins a new one. */
static void keep_running(struct task_struct *p, struct thread *t, s32 cpu, u64 now)
{
	t->yielded = false;
	if (turn_is_over(t))
		end_quantum(p, t);
	scx_bpf_task_set_slice(p, time_left(t, now));
	cpu_set_priority(cpu, t->priority);
}

/* Whether a thread that wants to continue leaves its CPU to one that waits with this priority. A yield is for any. */
static bool gives_way(const struct thread *t, u32 waiting)
{
	if (t->yielded)
		return waiting;
	return t->left <= 0 ? waiting >= decayed(t) : waiting > t->priority;
}

void BPF_STRUCT_OPS(windows_dispatch, s32 cpu, struct task_struct *prev)
{
	struct thread *t = still_runnable(prev) ? thread_of(prev) : NULL;
	u64 now = scx_bpf_now();

	if (t) {
		pay(t, now);
		if (!gives_way(t, ready_priority(cpu))) {
			keep_running(prev, t, cpu, now);
			return;
		}
	}
	if (scx_bpf_dsq_move_to_local(cpu, 0))
		return;
	if (t)
		keep_running(prev, t, cpu, now); /* another CPU was quicker */
	else if (!pull_thread(cpu))
		cpu_set_priority(cpu, 0);
}

void BPF_STRUCT_OPS(windows_running, struct task_struct *p)
{
	struct thread *t = thread_of(p);
	u64 now = scx_bpf_now();
	bool again;

	if (!t)
		return;
	again = must_choose_anew(p, t->interrupted);
	t->started_at = now;
	t->state = RAN;
	scx_bpf_task_set_slice(p, time_left(t, now));
	cpu_set_priority(scx_bpf_task_cpu(p), t->priority);
	if (again)
		choose_anew(scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(windows_stopping, struct task_struct *p, bool runnable)
{
	struct thread *t = thread_of(p);

	if (!t)
		return;
	pay(t, scx_bpf_now());
	t->interrupted = is_interrupted(p, runnable);
}

bool BPF_STRUCT_OPS(windows_yield, struct task_struct *from, struct task_struct *to)
{
	struct thread *t = thread_of(from);

	if (t) {
		t->yielded = true;
		scx_bpf_task_set_slice(from, 0);
	}
	return false;
}

/* The next CPU after @cpu, in a circle, on which a thread may run. */
static u32 next_cpu(const struct cpumask *cpus, u32 cpu)
{
	u32 step;

	bpf_for(step, 1, nr_cpus + 1) {
		u32 next = (cpu + step) % nr_cpus;

		if (bpf_cpumask_test_cpu(next, cpus))
			return next;
	}
	return cpu;
}

/* Deals out the ideal CPU of a new thread. The seeds of processes are dealt out in turn, too, from CPU 0 on. */
static u32 deal_ideal(const struct task_struct *p, const struct cpumask *cpus)
{
	u32 process = p->tgid, *known = bpf_map_lookup_elem(&thread_seeds, &process);
	u32 seed = known ? *known : __sync_fetch_and_add(&process_seed, 1) % nr_cpus;

	seed = next_cpu(cpus, seed);
	bpf_map_update_elem(&thread_seeds, &process, &seed, BPF_ANY);
	return seed;
}

/* A thread keeps its ideal CPU as long as it may run there. It may now run on CPUs that nothing else kicks for it. */
void BPF_STRUCT_OPS(windows_set_cpumask, struct task_struct *p, const struct cpumask *cpus)
{
	struct thread *t = thread_of(p);

	if (t && !bpf_cpumask_test_cpu(t->ideal, cpus))
		t->ideal = deal_ideal(p, cpus);
	kick_idle_cpu(cpus);
}

/*
 * Called when a thread comes under this scheduler, and when its nice value changes. One that runs and has a lower
 * priority than before gives way to those above it.
 */
void BPF_STRUCT_OPS(windows_set_weight, struct task_struct *p, u32 weight)
{
	struct thread *t = thread_of(p);
	u32 base = base_of(p);

	if (!t || t->base == base)
		return;
	if (p->on_cpu && base < t->base)
		t->interrupted = true;
	t->base = base;
	t->decrement = 0;
	set_priority(p, t, base);
	grant(p, t);
}

s32 BPF_STRUCT_OPS(windows_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct thread *t = bpf_task_storage_get(&threads, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return -ENOMEM;
	t->ideal = deal_ideal(p, p->cpus_ptr);
	return 0;
}

/* The limits of the scan. The paper's needs a wait of between 2.94 and 3.94 s to come every four seconds. */
static u64 scan_wait_ticks(void)
{
	return scan_boost == SCAN_PAPER ? 3500 * NS_PER_MS / tick : wait_limit_ticks;
}

static u64 scan_units(const struct task_struct *p)
{
	if (scan_boost == SCAN_UNITS)
		return boost_units;
	if (scan_boost == SCAN_FACTOR)
		return boost_factor * quantum_units(p);
	if (scan_boost == SCAN_PAPER)
		return 3 * ((60 * NS_PER_MS + tick - 1) / tick);
	return version == VISTA ? 3 : 4;
}

/* What the running scan may still do. There is one timer, so there is one scan at a time. */
static u32 may_examine, may_raise;

/* Whether a thread has been ready for too long. */
static bool starves(const struct thread *t, u64 now)
{
	return ticks_until(now) - ticks_until(t->ready_since) >= scan_wait_ticks();
}

/* Lifts a thread above all others that are not real-time, for one short quantum. */
static void relieve(struct task_struct *p, struct thread *t, u64 now)
{
	t->decrement += HIGHEST_DYNAMIC - t->priority;
	set_priority(p, t, HIGHEST_DYNAMIC);
	t->left = scan_units(p) * tick;
	t->ready_since = now;
	t->key = key_tail(level_of(HIGHEST_DYNAMIC), now - epoch);
}

/* Relieves the threads that wait for @cpu on one level and starve. */
static void scan_level(s32 cpu, u32 level, u64 now)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, cpu, 0) {
		struct thread *t = thread_of(p);
		s32 to;

		if (!t || priority_of(p) > level)
			continue;
		if (priority_of(p) < level || !may_examine || !may_raise)
			break;
		may_examine--;
		if (!starves(t, now))
			continue;
		may_raise--;
		relieve(p, t, now);
		/* When a CPU takes the thread at this moment, the move fails and the thread runs with what it now has. */
		to = ready_cpu(p, t, scx_bpf_task_cpu(p), bpf_get_smp_processor_id());
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, t->key);
		scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, to, 0);
		claim_cpu(to, HIGHEST_DYNAMIC);
	}
}

/* Looks at one CPU, from the level on where the last scan stopped. */
static void scan_cpu(struct processor *processor, s32 cpu, u64 now)
{
	u32 step;

	may_examine = SCAN_EXAMINES;
	may_raise = SCAN_RAISES;
	bpf_for(step, 0, HIGHEST_DYNAMIC - 1) {
		if (processor->scan_level < 1 || processor->scan_level >= HIGHEST_DYNAMIC)
			processor->scan_level = 1;
		scan_level(cpu, processor->scan_level, now);
		processor->scan_level++;
		if (!may_examine || !may_raise)
			return;
	}
	processor->scan_level = 1;
}

static int manage(void *map, u32 *key, struct manager *manager)
{
	struct processor *processor = ELEMENT(processors, manager->cpu);

	if (processor && scx_bpf_dsq_nr_queued(manager->cpu))
		scan_cpu(processor, manager->cpu, scx_bpf_now());
	manager->cpu = (manager->cpu + 1) % nr_cpus;
	bpf_timer_start(&manager->timer, scan_period, 0);
	return 0;
}

static s32 start_manager(void)
{
	u32 key = 0;
	struct manager *manager = bpf_map_lookup_elem(&managers, &key);
	s32 error;

	if (!manager)
		return -ENOENT;
	error = bpf_timer_init(&manager->timer, &managers, CLOCK_MONOTONIC);
	error = error ?: bpf_timer_set_callback(&manager->timer, manage);
	return error ?: bpf_timer_start(&manager->timer, scan_period, 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(windows_init)
{
	s32 cpus = count_cpus(MAX_CPUS), error;

	if (cpus < 0)
		return cpus;
	nr_cpus = cpus;
	epoch = scx_bpf_now();
	error = create_dsqs(nr_cpus);
	return error || !scan ? error : start_manager();
}

SCX_OPS_DEFINE(windows_ops,
	       .select_cpu = (void *)windows_select_cpu,
	       .enqueue = (void *)windows_enqueue,
	       .dispatch = (void *)windows_dispatch,
	       .running = (void *)windows_running,
	       .stopping = (void *)windows_stopping,
	       .yield = (void *)windows_yield,
	       .set_cpumask = (void *)windows_set_cpumask,
	       .set_weight = (void *)windows_set_weight,
	       .init_task = (void *)windows_init_task,
	       .init = (void *)windows_init,
	       .name = "windows");
