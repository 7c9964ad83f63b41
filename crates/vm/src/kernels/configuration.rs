//! A kernel's configuration: the file `config-RELEASE`, which distributions install with the kernel. libbpf reads the
//! values of an object's `CONFIG_…` variables from it.

use super::apt::Apt;
use super::{KNOWN, Known, cache, first_below, folder_name, lack, made_once};
use crate::error::VmError;
use crate::image::Image;
use schedlab_boundary::file;
use schedlab_boundary::own::Folder;
use std::fs;
use std::path::{Path, PathBuf};

/// The most that such a file may have; today's have 300 KB.
const MOST_BYTES: u64 = 4 << 20;

/// The configuration of the kernel that [`super::find`] gives for the same text. That of a known kernel is fetched if it is
/// not in the cache.
///
/// # Errors
///
/// It is in none of the places where it could be, which are named.
pub fn configuration(text: &str, image: &Image) -> Result<Vec<u8>, VmError> {
    let release = image.release().ok_or_else(|| lack(format!("the kernel {text} does not say its release")))?;
    let path = match KNOWN.into_iter().find(|known| known.name == text) {
        Some(known) => {
            let folder = cache()?.join(format!("{}-config", folder_name(&known)));
            made_once(&folder.join(&release), |folder| fetch(&known, &release, folder))?
        }
        None => beside(&super::find(text)?, &release)?,
    };
    let unread = |error| lack(format!("the configuration of the kernel {text}, {}: {error}", path.display()));
    file::bytes(&path, MOST_BYTES).map_err(unread)
}

/// Where the configuration of a kernel lies that is given as an image file.
fn beside(image: &Path, release: &str) -> Result<PathBuf, VmError> {
    let folder = image.parent().unwrap_or(Path::new("."));
    let named = format!("config-{release}");
    let places = [
        folder.join(&named),
        folder.join("config"),
        Path::new("/boot").join(&named),
        Path::new("/usr/lib/modules").join(release).join("config"),
    ];
    let missing = || {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        lack(format!("how the kernel {release} was configured is in none of: {}", places.join(", ")))
    };
    places.iter().find(|path| path.is_file()).cloned().ok_or_else(missing)
}

/// From 7.0 on it is in a package of its own, linux-base; before, linux-image has it next to the kernel.
fn fetch(known: &Known, release: &str, folder: &Path) -> Result<PathBuf, VmError> {
    let failed = |why: String| lack(format!("cannot fetch how {} was configured: {why}", known.name));
    let work = Folder::new().map_err(|error| failed(error.to_string()))?;
    let apt = Apt::new(work.path(), known).map_err(failed)?;
    apt.update().map_err(failed)?;
    let tree = [format!("linux-base-{release}"), format!("linux-image-{release}")]
        .iter()
        .find_map(|package| first_below(&apt.unpacked(package).ok()?, "config"));
    let found = tree.ok_or_else(|| failed(format!("no package has the configuration of {release}")))?;
    let (place, unfinished) = (folder.join("config"), folder.with_extension("tmp"));
    let copied = fs::copy(found, &unfinished).and_then(|_| fs::rename(&unfinished, &place));
    copied.map(|()| place).map_err(|error| failed(format!("cannot write into the cache: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_for_beside_the_image() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("vmlinuz");
        let missing = beside(&image, "0.0-none").unwrap_err().to_string();
        assert!(missing.contains("/config-0.0-none, ") && missing.contains("/boot/config-0.0-none"), "{missing}");
        for name in ["config", "config-0.0-none"] {
            fs::write(folder.path().join(name), "").unwrap();
            assert_eq!(beside(&image, "0.0-none").unwrap(), folder.path().join(name));
        }
    }
}
