//! The machine's own package manager, which knows where Debian's packages are and checks their signatures.

use super::Known;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The ending of the packages' names: kernels for virtual machines, which are small.
const FLAVOUR: &str = "cloud-amd64";

/// apt with lists and a cache of its own, so that nothing of the system's is touched.
pub(super) struct Apt<'a> {
    folder: &'a Path,
    options: Vec<String>,
}

impl Apt<'_> {
    pub fn new<'a>(folder: &'a Path, known: &Known) -> Result<Apt<'a>, String> {
        let site = site()?;
        let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
        let source = format!(
            "Types: deb\nURIs: {site}\nSuites: {}\nComponents: main\nArchitectures: amd64\nSigned-By: {keys}\n",
            known.suites
        );
        let path = |name: &str| folder.join(name).display().to_string();
        for name in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(name)).map_err(|error| error.to_string())?;
        }
        fs::write(folder.join("our.sources"), source).map_err(|error| error.to_string())?;
        fs::write(folder.join("status"), "").map_err(|error| error.to_string())?;
        let options = [
            format!("Dir::Etc::sourcelist={}", path("our.sources")),
            "Dir::Etc::sourceparts=-".into(),
            format!("Dir::State::lists={}", path("lists")),
            format!("Dir::State::status={}", path("status")),
            format!("Dir::Cache={}", path("cache")),
            "APT::Sandbox::User=root".into(),
            "Acquire::Languages=none".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
        ];
        Ok(Apt { folder, options: options.into_iter().flat_map(|option| ["-o".into(), option]).collect() })
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(&self.options).args(arguments).current_dir(self.folder);
        said(command.output(), program)
    }

    fn get(&self, arguments: &[&str]) -> Result<String, String> {
        self.run("apt-get", &[&["-qq"], arguments].concat())
    }

    /// Learns which packages there are.
    pub fn update(&self) -> Result<(), String> {
        self.get(&["update"]).map(drop)
    }

    /// Fetches a package and unpacks it; gives the folder of its files.
    pub fn unpacked(&self, package: &str) -> Result<PathBuf, String> {
        self.get(&["download", package])?;
        let files = fs::read_dir(self.folder).map_err(|error| error.to_string())?;
        let mut paths = files.flatten().map(|entry| entry.path());
        let archive = paths.find(|path| path.extension().is_some_and(|extension| extension == "deb"));
        let archive = archive.ok_or("apt fetched no package")?;
        let tree = self.folder.join(format!("tree-{package}"));
        said(Command::new("dpkg-deb").arg("-x").args([&archive, &tree]).output(), "dpkg-deb")?;
        fs::remove_file(archive).map_err(|error| error.to_string())?;
        Ok(tree)
    }

    /// The package of the newest version.
    pub fn newest(&self, known: &Known) -> Result<String, String> {
        let names = self.run("apt-cache", &["pkgnames", "linux-"])?;
        let ours = |name: &&str| name.ends_with(FLAVOUR) && name.starts_with(known.package);
        let newest = names.lines().filter(ours).max_by_key(|name| version(name));
        newest.map(str::to_string).ok_or_else(|| format!("there is none for {FLAVOUR} in {}", known.suites))
    }
}

/// The numbers in a package's name, for comparison: `linux-image-6.1.0-50-cloud-amd64` is 6, 1, 0, 50.
fn version(name: &str) -> Vec<u32> {
    let name = name.trim_end_matches(FLAVOUR);
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

/// Where this machine gets Debian's packages.
fn site() -> Result<String, String> {
    let output =
        Command::new("apt-get").args(["indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)"]).output();
    let targets = said(output, "apt-get")?;
    let debian = targets.lines().filter_map(|line| line.strip_prefix("Debian ")).find_map(|line| {
        let (suite, address) = line.split_once(' ')?;
        (!suite.contains("security")).then(|| address.to_string())
    });
    debian.ok_or_else(|| "this machine's apt knows no Debian archive; give --kernel a path".into())
}

/// What a program printed, or the last line of its complaint.
fn said(output: io::Result<Output>, program: &str) -> Result<String, String> {
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(errors.lines().rev().find(|line| line.starts_with("E:")).unwrap_or(errors.trim()).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let newest = ["linux-image-6.1.0-9-cloud-amd64", "linux-image-6.1.0-50-cloud-amd64"];
        assert_eq!(newest.into_iter().max_by_key(|name| version(name)), Some(newest[1]));
        assert!(version("linux-binary-7.3.4+deb13-cloud-amd64") > version("linux-binary-7.2.11+deb13-cloud-amd64"));
    }
}
