//! What lies in a guest: our own program, the programs that its tasks are, what these need to start, and the job.

use crate::error::{VmError, system};
use crate::initramfs::Initramfs;
use crate::libraries;
use crate::run::Settings;
use schedlab_boundary::file;
use schedlab_guest::message::{SETUP_PATH, WORK_PATH};
use schedlab_guest::{Job, PolicyJob, ProgramJob};
use schedlab_load::find_program;
use schedlab_model::workload::{Role, Step};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What a guest is given.
pub struct Packed {
    /// The archive of its files.
    pub files: Vec<u8>,
    /// Its work, which is among the files unless it is handed over later.
    pub work: Vec<u8>,
}

/// Packs a job, with all the files that it takes.
pub fn pack(job: &Job, settings: &Settings) -> Result<Packed, VmError> {
    let mut files = Initramfs::default();
    add(&mut files, "/init", settings.program)?;
    if let Some(PolicyJob::Program(scheduler)) = &job.setup.policy {
        add_scheduler(&mut files, scheduler)?;
    }
    if let (Some(configuration), Some(release)) = (&settings.configuration, settings.kernel.release()) {
        files.data(&format!("/boot/config-{release}"), configuration.clone());
    }
    let mut work = job.work.clone();
    for role in &mut work.workload.roles {
        add_programs(&mut files, role)?;
    }
    files.data(SETUP_PATH, written(&job.setup)?);
    let work = written(&work)?;
    if !settings.engine.has_parts() {
        files.data(WORK_PATH, work.clone());
    }
    Ok(Packed { files: files.archive(), work })
}

fn written(what: &impl Serialize) -> Result<Vec<u8>, VmError> {
    postcard::to_stdvec(what).map_err(|error| system("write the job")(io::Error::other(error)))
}

/// Adds a scheduler's program, the files that its arguments name, and its working folder.
fn add_scheduler(files: &mut Initramfs, job: &ProgramJob) -> Result<(), VmError> {
    add(files, &job.words[0], Path::new(&job.words[0]))?;
    for path in &job.files {
        let bytes =
            file::bytes(Path::new(path), ProgramJob::MOST_FILE_BYTES).map_err(system(&format!("read {path}")))?;
        files.data(path, bytes);
    }
    files.folder(&job.folder);
    Ok(())
}

/// Adds a program and its libraries.
fn add(files: &mut Initramfs, place: &str, program: &Path) -> Result<(), VmError> {
    add_bytes(files, place, program, read(program)?)
}

/// The same of a program whose bytes are known.
fn add_bytes(files: &mut Initramfs, place: &str, program: &Path, bytes: Vec<u8>) -> Result<(), VmError> {
    let what = format!("find the libraries of {}", program.display());
    for (path, library) in libraries::of(program).map_err(system(&what))? {
        files.program(&path, library);
    }
    files.program(place, libraries::without_sections(bytes));
    Ok(())
}

fn read(program: &Path) -> Result<Vec<u8>, VmError> {
    fs::read(program).map_err(system(&format!("read {}", program.display())))
}

/// The program that reads a script.
fn interpreter(script: &[u8]) -> Option<String> {
    let line = script.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    String::from_utf8_lossy(line).split_whitespace().next().map(String::from)
}

/// Adds the real programs of a role, and has it name them by their whole path: a guest looks nowhere.
fn add_programs(files: &mut Initramfs, role: &mut Role) -> Result<(), VmError> {
    for step in &mut role.program.steps {
        let Step::Command(words) = step else { continue };
        let found = find_program(&words[0]).map_err(|lack| VmError::Lack(format!("task `{}`: {lack}", role.name)))?;
        let found: PathBuf = std::path::absolute(&found).map_err(system("find the working folder"))?;
        words[0] = found.to_string_lossy().into_owned();
        let bytes = read(&found)?;
        match interpreter(&bytes) {
            Some(interpreter) => {
                add(files, &interpreter, Path::new(&interpreter))?;
                files.program(&words[0], bytes);
            }
            None => add_bytes(files, &words[0], &found, bytes)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_name_their_program() {
        assert_eq!(interpreter(b"#! /bin/sh -e\necho\n"), Some("/bin/sh".into()));
        assert_eq!((interpreter(b"\x7fELF"), interpreter(b"#!\n")), (None, None));
    }
}
