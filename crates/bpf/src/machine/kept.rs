//! Code that is kept: runs of one policy on one machine link the same program, and compiling it takes longer than a short
//! run.

use super::{MachineCode, MachineError};
use crate::program::Program;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// So many programs are kept, those used last.
const MOST: usize = 16;

/// What this process keeps.
static KEPT: Kept = Kept(Mutex::new(VecDeque::new()));

/// Programs with their code, the one used last in front.
struct Kept(Mutex<VecDeque<(Program, Arc<MachineCode>)>>);

impl MachineCode {
    /// The code of a program, compiled now or before.
    ///
    /// # Errors
    ///
    /// It cannot be compiled.
    pub fn obtain(program: &Program) -> Result<Arc<MachineCode>, MachineError> {
        KEPT.obtain(program)
    }
}

impl Kept {
    /// Two threads that ask for the same at once may both compile it.
    fn obtain(&self, program: &Program) -> Result<Arc<MachineCode>, MachineError> {
        if let Some(code) = self.find(program) {
            return Ok(code);
        }
        let code = Arc::new(MachineCode::compile(program)?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front((program.clone(), code.clone()));
        kept.truncate(MOST);
        Ok(code)
    }

    fn find(&self, program: &Program) -> Option<Arc<MachineCode>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(known, _)| known == program)?;
        let found = kept.remove(place)?;
        let code = found.1.clone();
        kept.push_front(found);
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Block, Function, Insn};

    /// A function that gives a number.
    fn program(value: u64) -> Program {
        let insns = vec![Insn::Constant { dst: 0, value }, Insn::Exit];
        let blocks = vec![Block { start: 0, end: 2 }];
        let function = Function { name: "f".into(), insns, blocks, uses_stack: false, slots: vec![], lines: vec![] };
        Program { functions: vec![function], ..Program::default() }
    }

    #[test]
    fn a_program_is_compiled_once_and_another_is_another() {
        let kept = Kept(Mutex::default());
        let obtain = |value: u64| kept.obtain(&program(value)).unwrap();
        let first = obtain(100);
        assert!(Arc::ptr_eq(&first, &obtain(100)));
        assert!(!Arc::ptr_eq(&first, &obtain(101)));
        (0..MOST as u64).for_each(|value| drop(obtain(value)));
        assert_eq!(kept.0.lock().unwrap().len(), MOST);
        assert!(!Arc::ptr_eq(&first, &obtain(100)), "it was the one used last before all others");
    }
}
