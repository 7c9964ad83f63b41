//! The names of ideal disciplines.

use schedlab_policy::catalog;
use schedlab_sim::ideal::Discipline;

/// Stands before the name of a discipline, which is needed where a shipped policy has the same name.
const IDEAL: &str = "ideal-";

/// The name by which a discipline is asked for: its own, with `ideal-` before it where a shipped policy has that name.
pub fn ideal_name(discipline: Discipline) -> String {
    let taken = catalog().iter().any(|shipped| shipped.name == discipline.name());
    if taken { format!("{IDEAL}{discipline}") } else { discipline.to_string() }
}

/// The discipline that a name asks for.
pub fn discipline(name: &str) -> Option<Discipline> {
    match name.strip_prefix(IDEAL) {
        Some(plain) => Discipline::from_name(plain),
        None => Discipline::from_name(name).filter(|found| ideal_name(*found) == *name),
    }
}
