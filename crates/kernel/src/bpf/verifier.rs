//! What the kernel's verifier says, in the lines of the source.
//!
//! Its log shows each instruction with the state of all registers, and between them the lines of the source that they
//! came from. The author of the source needs the lines on the way to the fault, and the fault itself.

/// How many source lines on the path to the fault are kept.
const PLACES: usize = 10;
/// How many lines about the fault itself are kept.
const WORDS: usize = 8;

/// The way to the fault as `file:line: text`, a place each, and what the verifier has against it.
pub fn in_lines_of_source(log: &str) -> Vec<String> {
    let (mut places, mut words): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for line in log.lines().map(str::trim_end) {
        match place(line) {
            // What was said before concerned another place, and the verifier continued.
            Some(place) => {
                words.clear();
                places.retain(|known| *known != place);
                places.push(place);
            }
            None if is_state(line) => {}
            None => words.push(line.trim_start().to_string()),
        }
    }
    let last = |list: Vec<String>, most: usize| list.into_iter().rev().take(most).rev().collect::<Vec<_>>();
    last(places, PLACES).into_iter().chain(last(words, WORDS)).collect()
}

/// The place in a line as `; turns++; @ endless.bpf.c:12`, which kernels from 6.10 on print.
fn place(line: &str) -> Option<String> {
    let text = line.strip_prefix(';')?.trim();
    match text.rsplit_once(" @ ") {
        Some((text, place)) => Some(format!("{place}: {}", text.trim())),
        None => Some(text.to_string()),
    }
}

/// Whether a line says an instruction, a state or what the work took, and nothing about a fault.
fn is_state(line: &str) -> bool {
    const BEGINNINGS: [&str; 12] = [
        "from ",
        "processed ",
        "verification time",
        "stack depth",
        "cur state:",
        "old state:",
        "func#",
        "caller:",
        "callee:",
        "mark_precise:",
        "Validating ",
        "-- ",
    ];
    let number = line.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_instruction = number.len() < line.trim_start().len() && number.starts_with(':');
    line.is_empty() || is_instruction || BEGINNINGS.iter().any(|word| line.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
func#0 @0
0: R1=ctx() R10=fp0
; void BPF_STRUCT_OPS(endless_enqueue, struct task_struct *p, u64 enq_flags) @ endless.bpf.c:9
0: (79) r6 = *(u64 *)(r1 +8)          ; R1=ctx() R6_w=scalar()
; while (turns < ~0ULL) @ endless.bpf.c:11
4: (79) r1 = *(u64 *)(r2 +0)          ; R1_w=scalar()
; turns++; @ endless.bpf.c:12
6: (79) r3 = *(u64 *)(r2 +0)          ; R3=scalar()
from 10 to 4: R1=scalar() R10=fp0
; while (turns < ~0ULL) @ endless.bpf.c:11
4: (79) r1 = *(u64 *)(r2 +0)
infinite loop detected at insn 4
cur state: R1=scalar()
old state: R1=scalar()
processed 22 insns (limit 1000000) max_states_per_insn 0 total_states 2 peak_states 2 mark_read 1
";

    #[test]
    fn the_way_and_the_fault_are_told_without_registers() {
        assert_eq!(
            in_lines_of_source(LOG),
            [
                "endless.bpf.c:9: void BPF_STRUCT_OPS(endless_enqueue, struct task_struct *p, u64 enq_flags)",
                "endless.bpf.c:12: turns++;",
                "endless.bpf.c:11: while (turns < ~0ULL)",
                "infinite loop detected at insn 4",
            ]
        );
    }

    #[test]
    fn older_kernels_tell_no_place_and_long_ways_are_cut() {
        assert_eq!(in_lines_of_source("; x = 1;\n0: (b7) r0 = 1\nR0 !read_ok\n"), ["x = 1;", "R0 !read_ok"]);
        let long: String = (0..100).map(|line| format!("; a; @ f.c:{line}\n")).collect();
        let told = in_lines_of_source(&(long + "no\n"));
        assert_eq!((told.len(), told[0].as_str(), told[10].as_str()), (11, "f.c:90: a;", "no"));
        assert_eq!(in_lines_of_source(""), Vec::<String>::new());
    }
}
