//! Code that is kept: runs of one policy on one machine link the same program, and compiling it takes longer than a short
//! run.

use super::MachineCode;
use crate::constants::Constants;
use crate::object::MachineError;
use crate::program::Program;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// That many programs are kept, those used last.
const MOST: usize = 32;
/// With that many settings of one policy each has code of its own, in which they are constants. What comes after that
/// shares code that reads them: compiling takes longer than it saves in a short run.
const SETTINGS: usize = 8;

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
        let is_shared =
            |known: &Program| known.constants == Constants::default() && known.differs_in_constants(program);
        if let Some(code) = self.find(|known| known == program).or_else(|| self.find(is_shared)) {
            return Ok(code);
        }
        let mut program = program.clone();
        if self.count(|known| known.differs_in_constants(&program)) >= SETTINGS {
            program.constants = Constants::default();
        }
        let code = Arc::new(MachineCode::compile(&program)?);
        let mut kept = self.lock();
        kept.push_front((program, code.clone()));
        kept.truncate(MOST);
        Ok(code)
    }

    fn find(&self, is_meant: impl Fn(&Program) -> bool) -> Option<Arc<MachineCode>> {
        let mut kept = self.lock();
        let place = kept.iter().position(|(known, _)| is_meant(known))?;
        let found = kept.remove(place)?;
        let code = found.1.clone();
        kept.push_front(found);
        Some(code)
    }

    fn count(&self, is_meant: impl Fn(&Program) -> bool) -> usize {
        self.lock().iter().filter(|(known, _)| is_meant(known)).count()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Program, Arc<MachineCode>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::needs_of;
    use crate::program::{Function, Insn};

    /// A function that gives a number.
    fn program(value: u64) -> Program {
        let insns = [Insn::Constant { dst: 0, value }, Insn::Exit];
        let functions = vec![Function::of_blocks(&[&insns], false)];
        let needs = needs_of(&functions, &[], true).unwrap();
        Program { functions, needs, ..Program::default() }
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

    #[test]
    fn of_many_settings_the_first_have_code_of_their_own() {
        let kept = Kept(Mutex::default());
        let obtain = |setting: u8| {
            let mut program = program(100);
            program.constants.add(0x1000, vec![setting]);
            kept.obtain(&program).unwrap()
        };
        let first: Vec<_> = (0..SETTINGS as u8).map(&obtain).collect();
        assert!(!Arc::ptr_eq(&first[0], &first[1]) && Arc::ptr_eq(&first[1], &obtain(1)));
        assert!(Arc::ptr_eq(&obtain(100), &obtain(101)));
        assert!(first.iter().all(|code| !Arc::ptr_eq(code, &obtain(100))));
        assert_eq!(kept.0.lock().unwrap().len(), SETTINGS + 1);
    }
}
