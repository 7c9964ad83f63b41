//! Guests that are set up: booted, with their policy verified. That takes most of a guest's time and is the same for all runs of a policy,
//! so it is done once, and each run continues in a copy of the machine as it was then.

use crate::engine::{Guest, Part};
use crate::error::{VmError, system};
use crate::kept;
use crate::run::{Settings, command};
use crate::watch::Watch;
use schedlab_boundary::own::Folder;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Puts the machine as it is when it is set up where the guest's engine continues it.
pub fn put_into(
    guest: &Guest,
    version: &str,
    settings: &Settings,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(), VmError> {
    let folder = Folder::new().map_err(system("make a temporary folder"))?;
    let setup = Guest { part: Part::Setup, folder: folder.path(), ..guest.clone() };
    let command = command(&setup, settings.engine)?;
    let Some(kept) = settings.kept else {
        save(&setup, settings, command, go_on)?;
        return copy(&setup.state(), guest);
    };
    let name = kept::name(settings.engine, version, &setup, &command);
    let name = name.map_err(system("read what the emulator is handed"))?;
    // Another thread may be about to make the same one.
    let turn = turn(&name);
    let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(state) = kept.state(&name) {
        return copy(&state, guest);
    }
    save(&setup, settings, command, go_on)?;
    // Without it the next run boots again: nothing worse.
    let _ = kept.keep_state(&name, &setup.state());
    copy(&setup.state(), guest)
}

fn copy(state: &Path, guest: &Guest) -> Result<(), VmError> {
    fs::copy(state, guest.state()).map(drop).map_err(system("copy the machine that is set up"))
}

/// Boots a guest and writes down its state when it is set up.
fn save(
    setup: &Guest,
    settings: &Settings,
    command: Command,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(), VmError> {
    let mut watch = Watch::start(setup, settings, command)?;
    watch.until_it_is_set_up(go_on)?;
    thread::scope(|scope| {
        let saving = scope.spawn(|| settings.engine.save(setup));
        let has_ended = match watch.until_it_is_saved(|| saving.is_finished(), go_on) {
            Ok(is_saved) => !is_saved,
            Err(error) => {
                // The emulator ends here, and with it what is asked of it.
                drop(watch);
                return Err(error);
            }
        };
        let saved = saving.join().expect("nothing panics while a machine is saved");
        saved.map_err(system("save the machine that is set up"))?;
        // That an emulator has ended is heard once.
        if has_ended { Ok(()) } else { watch.until_it_ends(go_on) }
    })
}

/// What threads take turns at, by the name of a state.
fn turn(name: &str) -> Arc<Mutex<()>> {
    static TURNS: Mutex<BTreeMap<String, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    TURNS.lock().unwrap_or_else(PoisonError::into_inner).entry(name.into()).or_default().clone()
}
