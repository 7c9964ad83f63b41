//! Events in the bytes of Linux 6.18, and the formats that say what lies where in them.

use super::{Happening, What};

/// What all events begin with.
const COMMON: &str = "format:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

const STATES: &str = "(REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, \"|\", { 0x00000001, \"S\" }, \
    { 0x00000002, \"D\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }) : \"R\"";

/// Kinds of events: number, name, fields with their sizes (negative where signed), and how they are printed.
type Kind = (u16, &'static str, &'static [(&'static str, i32)], &'static str);

const KINDS: [Kind; 7] = [
    (
        372,
        "sched_switch",
        &[
            ("char prev_comm[16]", 16),
            ("pid_t prev_pid", -4),
            ("int prev_prio", -4),
            ("long prev_state", -8),
            ("char next_comm[16]", 16),
            ("pid_t next_pid", -4),
            ("int next_prio", -4),
        ],
        "",
    ),
    (375, "sched_waking", WOKEN, WOKEN_PRINT),
    (374, "sched_wakeup", WOKEN, WOKEN_PRINT),
    (373, "sched_wakeup_new", WOKEN, WOKEN_PRINT),
    (
        366,
        "sched_process_fork",
        &[
            ("__data_loc char[] parent_comm", 4),
            ("pid_t parent_pid", -4),
            ("__data_loc char[] child_comm", 4),
            ("pid_t child_pid", -4),
        ],
        "\"comm=%s pid=%d child_comm=%s child_pid=%d\", __get_str(parent_comm), REC->parent_pid, __get_str(child_comm), \
         REC->child_pid",
    ),
    (
        363,
        "sched_stat_runtime",
        &[("__data_loc char[] comm", 4), ("pid_t pid", -4), ("u64 runtime", 8)],
        "\"comm=%s pid=%d runtime=%Lu [ns]\", __get_str(comm), REC->pid, (unsigned long long)REC->runtime",
    ),
    (
        370,
        "sched_process_exit",
        &[("char comm[16]", 16), ("pid_t pid", -4), ("int prio", -4)],
        "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio",
    ),
];

const WOKEN: &[(&str, i32)] = &[("char comm[16]", 16), ("pid_t pid", -4), ("int prio", -4), ("int target_cpu", -4)];
const WOKEN_PRINT: &str = "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, REC->target_cpu";

fn format(kind: &Kind) -> String {
    let (id, name, fields, print) = kind;
    let mut text = format!("name: {name}\nID: {id}\n{COMMON}");
    let mut offset = 8;
    for (declaration, size) in *fields {
        let (length, signed) = (size.unsigned_abs(), i32::from(*size < 0));
        text += &format!("\tfield:{declaration};\toffset:{offset};\tsize:{length};\tsigned:{signed};\n");
        offset += length;
    }
    let switch = format!(
        "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d\", REC->prev_comm, \
         REC->prev_pid, REC->prev_prio, {STATES}, REC->next_comm, REC->next_pid, REC->next_prio"
    );
    text + &format!("\nprint fmt: {}\n", if print.is_empty() { &switch } else { *print })
}

/// The header and the formats, as files of trace-cmd and perf have them behind the size of a page.
pub fn header() -> Vec<u8> {
    [page_formats(), 0_u32.to_le_bytes().to_vec(), systems()].concat()
}

/// How a page is laid out, and how an event begins.
pub fn page_formats() -> Vec<u8> {
    let page = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    let event = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
        \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
    [&b"header_page\0"[..], &sized(page), b"header_event\0", &sized(event)].concat()
}

/// The formats of the one system that there is.
pub fn systems() -> Vec<u8> {
    let formats: Vec<u8> = KINDS.iter().flat_map(|kind| sized(&format(kind))).collect();
    [&1_u32.to_le_bytes()[..], b"sched\0", &(KINDS.len() as u32).to_le_bytes(), &formats].concat()
}

fn sized(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

fn comm(name: &str) -> [u8; 16] {
    let mut comm = [0; 16];
    comm[..name.len()].copy_from_slice(name.as_bytes());
    comm
}

/// A text behind the fields, and the word that says where it is: in which of these places.
fn texts(begin: usize, texts: &[&str]) -> (Vec<u32>, Vec<u8>) {
    let (mut words, mut bytes) = (Vec::new(), Vec::new());
    for text in texts {
        words.push(((begin + bytes.len()) as u32) | (text.len() as u32 + 1) << 16);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
    }
    (words, bytes)
}

/// The bytes of an event.
pub fn raw(happening: &Happening) -> Vec<u8> {
    let int = |number: i32| number.to_le_bytes();
    let priority = int(120);
    let woken =
        |(tid, name): (i32, &str), cpu: u32| [&comm(name)[..], &int(tid), &priority, &cpu.to_le_bytes()].concat();
    let (id, fields) = match happening.what {
        What::Switch((from, left), state, (to, came)) => {
            let left = [&comm(left)[..], &int(from), &priority].concat();
            (372, [&left[..], &state.to_le_bytes(), &comm(came), &int(to), &priority].concat())
        }
        What::Waking(task, cpu) => (375, woken(task, cpu)),
        What::Wakeup(task, cpu) => (374, woken(task, cpu)),
        What::WakeupNew(task, cpu) => (373, woken(task, cpu)),
        What::Fork(parent, (child, name)) => {
            let (words, bytes) = texts(24, &["sh", name]);
            let [first, second] = [words[0].to_le_bytes(), words[1].to_le_bytes()];
            (366, [&first[..], &int(parent), &second, &int(child), &bytes].concat())
        }
        What::Ran((tid, name), runtime_ns) => {
            let (words, bytes) = texts(24, &[name]);
            (363, [&words[0].to_le_bytes()[..], &int(tid), &runtime_ns.to_le_bytes(), &bytes].concat())
        }
        What::Exit((tid, name)) => (370, [&comm(name)[..], &int(tid), &priority].concat()),
    };
    let flags = if happening.in_interrupt { 0x08 } else { 0 };
    let common = [&u16::to_le_bytes(id)[..], &[flags, 0], &int(happening.on)].concat();
    let mut bytes = [common, fields].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// An event as perf prints it.
pub fn perf_line(happening: &Happening) -> String {
    let woken = |(tid, name): (i32, &str), cpu: u32| format!("comm={name} pid={tid} prio=120 target_cpu={cpu:03}");
    let state = |bits: u64| match bits {
        super::SLEEPING => "S",
        super::DEAD => "X",
        _ => "R",
    };
    let (name, fields) = match happening.what {
        What::Switch((from, left), bits, (to, came)) => (
            "sched_switch",
            format!(
                "prev_comm={left} prev_pid={from} prev_prio=120 prev_state={} ==> next_comm={came} next_pid={to} next_prio=120",
                state(bits)
            ),
        ),
        What::Waking(task, cpu) => ("sched_waking", woken(task, cpu)),
        What::Wakeup(task, cpu) => ("sched_wakeup", woken(task, cpu)),
        What::WakeupNew(task, cpu) => ("sched_wakeup_new", woken(task, cpu)),
        What::Fork(parent, (child, name)) => {
            ("sched_process_fork", format!("comm=sh pid={parent} child_comm={name} child_pid={child}"))
        }
        What::Ran((tid, name), runtime_ns) => {
            ("sched_stat_runtime", format!("comm={name} pid={tid} runtime={runtime_ns} [ns]"))
        }
        What::Exit((tid, name)) => ("sched_process_exit", format!("comm={name} pid={tid} prio=120")),
    };
    let (seconds, ns) = (happening.time_ns / 1_000_000_000, happening.time_ns % 1_000_000_000);
    format!("task {:>6} [{:03}] {seconds}.{ns:09}: sched:{name}: {fields}", happening.on, happening.cpu)
}
