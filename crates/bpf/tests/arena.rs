//! Arenas: pages, pointers of their own address space, variables in them.

mod support;

use schedlab_bpf::{Executor, Object};
use support::{EXECUTORS, compile, load};

#[test]
fn pages_come_and_go() {
    let object = Object::parse(&compile("arena", "v3")).unwrap();
    for executor in EXECUTORS {
        let mut machine = load(&object, executor, &[]).unwrap();
        assert_eq!(machine.run("sum", &[]), 5);
        let first = machine.run("fill", &[100]);
        let second = machine.run("fill", &[200]);
        assert_eq!((first % 4096, second), (0, first + 4096));
        assert_eq!(machine.run("sum", &[]), (1045 + 2045) * 100 + 25);
        for _ in 2..7 {
            assert_ne!(machine.run("fill", &[0]), MINUS_ONE);
        }
        assert_eq!(machine.run("fill", &[0]), MINUS_ONE, "seven pages and one of variables are all");
        let gone = machine.call("give_back", &[first]);
        match executor {
            Executor::Interpreter => assert!(gone.unwrap_err().to_string().contains("outside of everything")),
            Executor::Machine => assert_eq!(gone.unwrap(), 0),
        }
        assert_eq!(machine.run("fill", &[0]), first, "the page is free again");
    }
}

const MINUS_ONE: u64 = u64::MAX;
