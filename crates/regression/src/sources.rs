//! Where the policies of a gate are: next to it, or as they were at a revision.

use crate::GateError;
use crate::git::{Repository, Tree, build};
use schedlab_policy::{PolicySpec, Reference};
use schedlab_venue::Policy;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Finds the policies of a gate.
pub struct Sources {
    /// The folder of the gate, and the one from which files of policies count.
    folder: PathBuf,
    policies: PathBuf,
    /// Where policies are built.
    top: PathBuf,
    /// The repository, where there is one.
    pub repository: Option<Repository>,
    /// What builds policies, in the top of a tree.
    build: Option<String>,
    /// Files of revisions that were asked for.
    trees: BTreeMap<String, Tree>,
    is_built: bool,
}

impl Sources {
    /// Those next to a gate's file; `build` is run before a policy is read.
    pub fn beside(gate: &Path, build: Option<&str>) -> Sources {
        let folder = gate.parent().map_or_else(PathBuf::new, PathBuf::from);
        let repository = Repository::of(&folder);
        let top = repository.as_ref().map_or(&folder, |repository| &repository.top);
        let top = if top.as_os_str().is_empty() { PathBuf::from(".") } else { top.clone() };
        let (policies, build) = (folder.clone(), build.map(String::from));
        Sources { folder, policies, top, repository, build, trees: BTreeMap::new(), is_built: false }
    }

    /// The same with the policies of another tree of the repository.
    ///
    /// # Errors
    ///
    /// There is no repository.
    pub fn in_tree(&self, top: &Path) -> Result<Sources, GateError> {
        Ok(Sources {
            folder: self.folder.clone(),
            policies: top.join(self.inside()?),
            top: top.into(),
            repository: self.repository.clone(),
            build: self.build.clone(),
            trees: BTreeMap::new(),
            is_built: false,
        })
    }

    /// The folder of the gate.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A policy as it is now.
    ///
    /// # Errors
    ///
    /// There is none, or it does not become an object.
    pub fn now(&mut self, name: &str) -> Result<Policy, GateError> {
        if let (Some(line), false) = (&self.build, self.is_built) {
            build(line, &self.top).map_err(GateError::Failed)?;
            self.is_built = true;
        }
        found(name, &self.policies, name)
    }

    /// A policy as it was at a revision.
    ///
    /// # Errors
    ///
    /// It has no revisions, was not there, or does not become an object.
    pub fn at(&mut self, name: &str, revision: &str) -> Result<Policy, GateError> {
        let spec = PolicySpec::parse(name).map_err(schedlab_venue::VenueError::from)?;
        if file_of(&spec).is_none() {
            return Err(GateError::Input(format!(
                "policy {name} has no revisions: it comes with schedlab; name its file, as in ./{name}.bpf.c"
            )));
        }
        let inside = self.inside()?;
        if !self.trees.contains_key(revision) {
            let repository = self.repository.as_ref().expect("it was asked for");
            let tree = repository.tree(revision)?;
            if let Some(line) = &self.build {
                build(line, &tree.top()).map_err(|why| GateError::Failed(format!("at {revision}: {why}")))?;
            }
            self.trees.insert(revision.into(), tree);
        }
        found(name, &self.trees[revision].top().join(inside), &format!("{name} at {revision}"))
    }

    /// The folder of the gate, from the top of the repository.
    fn inside(&self) -> Result<PathBuf, GateError> {
        let repository = Repository::find(&self.folder)?;
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let whole = |path: &Path| {
            path.canonicalize()
                .map_err(|error| GateError::Input(format!("{}: the folder cannot be read: {error}", path.display())))
        };
        let inside = whole(folder)?.strip_prefix(whole(&repository.top)?).map(Path::to_path_buf);
        inside.map_err(|_| GateError::Input(format!("{} is outside of its repository", folder.display())))
    }
}

/// The file that a policy names, if it names one: a program without a folder is looked up elsewhere.
fn file_of(spec: &PolicySpec) -> Option<&Path> {
    let is_program = matches!(spec.reference, Reference::Program(_) | Reference::ProgramOnce(_));
    spec.file().filter(|file| !is_program || file.components().nth(1).is_some())
}

/// A policy whose file counts from a folder; errors and results call it by `label`.
fn found(name: &str, folder: &Path, label: &str) -> Result<Policy, GateError> {
    let spec = PolicySpec::parse(name).map_err(schedlab_venue::VenueError::from)?;
    let policy = Policy::find(&spec.beside(folder))?.licensed()?;
    Ok(Policy { label: label.into(), ..policy })
}
