// A scheduler's program in small: it loads a policy by bpf(2) alone and sleeps for ever then. One queue for all
// tasks; the slice is an argument, which the loader writes into memory that it shares with the policy. Another argument
// names something that no loader should do, and is done before the policy is put in charge.
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <pthread.h>

// Of kernels newer than the headers that this may be compiled with.
#define WITH_LINK (1u << 13)
#define ATTACH_OPERATIONS 44

static char *types;
static struct btf_header *header;

static void die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(3);
}

static int bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

// The number of the type of this name and kind; its record comes back too.
static int type_named(const char *name, int kind, struct btf_type **found)
{
	const char *strings = types + header->hdr_len + header->str_off;
	char *at = types + header->hdr_len + header->type_off;
	char *end = at + header->type_len;
	for (int id = 1; at < end; id++) {
		struct btf_type *type = (void *)at;
		int count = BTF_INFO_VLEN(type->info), of = BTF_INFO_KIND(type->info);
		if (of == kind && !strcmp(strings + type->name_off, name)) {
			*found = type;
			return id;
		}
		at += sizeof(*type);
		switch (of) {
		case BTF_KIND_INT: case BTF_KIND_VAR: at += 4; break;
		case BTF_KIND_ARRAY: at += sizeof(struct btf_array); break;
		case BTF_KIND_STRUCT: case BTF_KIND_UNION: at += count * sizeof(struct btf_member); break;
		case BTF_KIND_ENUM: at += count * 8; break;
		case BTF_KIND_ENUM64: at += count * 12; break;
		case BTF_KIND_FUNC_PROTO: at += count * 8; break;
		}
	}
	die(name);
	return 0;
}

// The place of a member in bytes, and its number.
static int member(struct btf_type *type, const char *name, int *index)
{
	const char *strings = types + header->hdr_len + header->str_off;
	struct btf_member *members = (void *)(type + 1);
	for (int i = 0; i < BTF_INFO_VLEN(type->info); i++)
		if (!strcmp(strings + members[i].name_off, name)) {
			*index = i;
			return members[i].offset / 8;
		}
	die(name);
	return 0;
}

static void read_types(void)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY);
	off_t len = lseek(fd, 0, SEEK_END);
	types = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd < 0 || types == MAP_FAILED)
		die("types");
	header = (void *)types;
}

static int map(int kind, int key, int value, int entries, int flags, int value_type)
{
	union bpf_attr attr = { .map_type = kind, .key_size = key, .value_size = value, .max_entries = entries,
				.map_flags = flags, .btf_vmlinux_value_type_id = value_type };
	int fd = bpf(BPF_MAP_CREATE, &attr);
	if (fd < 0)
		die("map");
	return fd;
}

static int program(int kind, const char *name, struct bpf_insn *insns, int count, int type, int operation)
{
	static char log[4096];
	union bpf_attr attr = { .prog_type = kind, .insns = (unsigned long)insns, .insn_cnt = count,
				.license = (unsigned long)"GPL", .attach_btf_id = type,
				.expected_attach_type = operation, .log_level = 1, .log_size = sizeof(log),
				.log_buf = (unsigned long)log };
	if (kind == BPF_PROG_TYPE_SYSCALL)
		attr.prog_flags = BPF_F_SLEEPABLE;
	strcpy(attr.prog_name, name);
	int fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0) {
		printf("%s: %s\n", name, log);
		exit(4);
	}
	return fd;
}

#define SET(to, value) { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = to, .imm = value }
#define MOVE(to, from) { .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = to, .src_reg = from }
#define CALL_KERNEL(id) { .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = id }
#define EXIT { .code = BPF_JMP | BPF_EXIT }

// A program with types of its own, which makes an object of one of them: the result, or the error.
static int make_object(int type)
{
	static const char names[] = "\0number\0pair\0first\0second";
	struct {
		struct btf_header header;
		struct btf_type number;
		int bits;
		struct btf_type pair;
		struct btf_member members[2];
		char names[sizeof(names)];
	} own = { .header = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(struct btf_header),
			      .type_len = 2 * sizeof(struct btf_type) + 4 + 2 * sizeof(struct btf_member),
			      .str_off = 2 * sizeof(struct btf_type) + 4 + 2 * sizeof(struct btf_member),
			      .str_len = sizeof(names) },
		  .number = { .name_off = 1, .info = BTF_KIND_INT << 24, .size = 8 },
		  .bits = 64,
		  .pair = { .name_off = 8, .info = BTF_KIND_STRUCT << 24 | 2, .size = 16 },
		  .members = { { .name_off = 13, .type = 1 }, { .name_off = 19, .type = 1, .offset = 64 } } };
	memcpy(own.names, names, sizeof(names));
	union bpf_attr types = { .btf = (unsigned long)&own, .btf_size = sizeof(own) };
	struct btf_type *ignored;
	struct bpf_insn insns[] = {
		SET(1, type),
		SET(2, 0),
		CALL_KERNEL(type_named("bpf_obj_new_impl", BTF_KIND_FUNC, &ignored)),
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 7 },
		{ .code = BPF_ST | BPF_DW | BPF_MEM, .dst_reg = 0, .off = 8, .imm = 42 },
		{ .code = BPF_LDX | BPF_DW | BPF_MEM, .dst_reg = 6, .src_reg = 0, .off = 8 },
		MOVE(1, 0),
		SET(2, 0),
		CALL_KERNEL(type_named("bpf_obj_drop_impl", BTF_KIND_FUNC, &ignored)),
		MOVE(0, 6),
		EXIT,
		SET(0, 1),
		EXIT,
	};
	union bpf_attr load = { .prog_type = BPF_PROG_TYPE_SYSCALL, .insns = (unsigned long)insns,
				.insn_cnt = sizeof(insns) / sizeof(insns[0]), .license = (unsigned long)"GPL",
				.prog_flags = BPF_F_SLEEPABLE, .prog_name = "make_object" };
	load.prog_btf_fd = bpf(BPF_BTF_LOAD, &types);
	union bpf_attr run = { .test = { .prog_fd = bpf(BPF_PROG_LOAD, &load) } };
	return bpf(BPF_PROG_TEST_RUN, &run) ? -errno : (int)run.test.retval;
}

static void *wait_and_add(void *word)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	for (int i = 0; i < 5; i++) {
		nanosleep(&pause, NULL);
		++*(int *)word;
	}
	return NULL;
}

static void misbehave(const char *what)
{
	if (!strcmp(what, "fork") && fork() < 0)
		printf("no fork: %s\n", strerror(errno));
	if (!strcmp(what, "become")) {
		execl("/bin/true", "true", NULL);
		printf("no other program: %s\n", strerror(errno));
	}
	if (!strcmp(what, "call") && socket(AF_INET, SOCK_STREAM, 0) < 0)
		printf("no socket: %s\n", strerror(errno));
	if (!strcmp(what, "kill") && kill(getppid(), SIGTERM) < 0)
		printf("no signal: %s\n", strerror(errno));
	if (!strcmp(what, "read") && open("/etc/passwd", O_RDONLY) < 0)
		printf("no file: %s\n", strerror(errno));
	if (!strcmp(what, "write") && open("/etc/loader-was-here", O_CREAT | O_WRONLY, 0600) < 0)
		printf("no new file: %s\n", strerror(errno));
	if (!strcmp(what, "end"))
		exit(5);
	if (!strcmp(what, "hang"))
		pause();
	if (!strcmp(what, "poison")) {
		struct bpf_insn insns[] = { { .code = BPF_JMP | BPF_CALL, .imm = 9999 }, { .code = BPF_JMP | BPF_EXIT } };
		program(BPF_PROG_TYPE_SYSCALL, "poison", insns, 2, 0, 0);
	}
	if (!strcmp(what, "objects"))
		printf("%d, and of a number %d\n", make_object(2), make_object(1));
	if (!strcmp(what, "threads")) {
		pthread_t threads[3];
		int counted[3] = { 0 };
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, wait_and_add, &counted[i]);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		printf("%d %d %d at %ld.%09ld in thread %ld\n", counted[0], counted[1], counted[2], now.tv_sec,
		       now.tv_nsec, syscall(SYS_gettid));
	}
}

#define CONSTANT(reg, kind, low, high) \
	{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = reg, .src_reg = kind, .imm = low }, { .imm = high }
#define LOAD(to, from, at) { .code = BPF_LDX | BPF_DW | BPF_MEM, .dst_reg = to, .src_reg = from, .off = at }
#define STORE(to, at, from) { .code = BPF_STX | BPF_DW | BPF_MEM, .dst_reg = to, .off = at, .src_reg = from }
#define ADD(to, from) { .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = to, .src_reg = from }
#define LEN(array) ((int)(sizeof(array) / sizeof(array[0])))

int main(int argc, char **argv)
{
	struct btf_type *value, *table, *ignored;
	int at, index;
	unsigned long slice = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000000;

	read_types();
	int insert = type_named("scx_bpf_dsq_insert", BTF_KIND_FUNC, &ignored);
	int value_type = type_named("bpf_struct_ops_sched_ext_ops", BTF_KIND_STRUCT, &value);
	int table_type = type_named("sched_ext_ops", BTF_KIND_STRUCT, &table);

	// Half of the slice is in shared memory from the start, a program that runs for the loader doubles it.
	int globals = map(BPF_MAP_TYPE_ARRAY, 4, 16, 1, BPF_F_MMAPABLE, 0);
	unsigned long *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, globals, 0);
	if (shared == MAP_FAILED)
		die("shared memory");
	shared[0] = slice / 2;

	struct bpf_insn twice[] = {
		LOAD(6, 1, 0), // the factor
		CONSTANT(2, BPF_PSEUDO_MAP_VALUE, globals, 0),
		LOAD(3, 2, 0),
		{ .code = BPF_ALU64 | BPF_MUL | BPF_X, .dst_reg = 3, .src_reg = 6 },
		STORE(2, 0, 3),
		STORE(1, 0, 3),
		SET(0, 7),
		EXIT,
	};
	unsigned long context = 2;
	union bpf_attr run = { .test = { .prog_fd = program(BPF_PROG_TYPE_SYSCALL, "twice", twice, LEN(twice), 0, 0),
					 .ctx_in = (unsigned long)&context, .ctx_size_in = sizeof(context) } };
	if (bpf(BPF_PROG_TEST_RUN, &run) || run.test.retval != 7 || context != slice || shared[0] != slice)
		die("a run");

	member(table, "enqueue", &index);
	struct bpf_insn enqueue[] = {
		LOAD(6, 1, 0), // the task
		LOAD(5, 1, 8), // how it is queued
		CONSTANT(2, BPF_PSEUDO_MAP_VALUE, globals, 0),
		LOAD(3, 2, 0),
		MOVE(1, 6),
		CONSTANT(2, 0, 1, (int)(1u << 31)), // SCX_DSQ_GLOBAL
		MOVE(4, 5),
		CALL_KERNEL(insert),
		SET(0, 0),
		EXIT,
	};
	int enqueue_fd =
		program(BPF_PROG_TYPE_STRUCT_OPS, "queue_task", enqueue, LEN(enqueue), table_type, index);

	int operations = map(BPF_MAP_TYPE_STRUCT_OPS, 4, value->size, 1, WITH_LINK, value_type);
	char *bytes = calloc(1, value->size);
	char *data = bytes + member(value, "data", &index);
	at = member(table, "enqueue", &index);
	*(unsigned long *)(data + at) = enqueue_fd;
	at = member(table, "name", &index);
	strcpy(data + at, "small");
	int key = 0;
	union bpf_attr update = { .map_fd = operations, .key = (unsigned long)&key, .value = (unsigned long)bytes };
	if (bpf(BPF_MAP_UPDATE_ELEM, &update))
		die("operations");

	if (argc > 2)
		misbehave(argv[2]);
	if (argc > 3) {
		printf("stopped before the end, as asked\n");
		return 6;
	}
	union bpf_attr link = { .link_create = { .prog_fd = operations, .attach_type = ATTACH_OPERATIONS } };
	if (bpf(BPF_LINK_CREATE, &link) < 0)
		die("attach");
	// Afterwards it changes the slice, and continues or ends.
	usleep(100000);
	if (argc > 2 && !strcmp(argv[2], "longer"))
		shared[0] = slice * 10;
	if (argc > 2 && !strcmp(argv[2], "leave"))
		return 7;
	for (;;)
		sleep(1);
}
