//! Which Linux an object stands for, where it stands for the fair scheduler of one.

use crate::object::{ConstantValue, Object};
use std::fmt;

/// The declaration tag of the variable that chooses: the releases follow, and the value is the place of one of them.
const TAG: &str = "linux ";

/// A release of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub u32, pub u32);

impl Release {
    /// Reads one as in `6.12`, or that of a kernel as in `Linux 7.3.4+deb13-cloud-amd64`.
    pub fn parse(text: &str) -> Option<Release> {
        let mut parts = text.strip_prefix("Linux ").unwrap_or(text).splitn(3, '.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
        Some(Release(major, minor[..digits].parse().ok()?))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The releases of which an object can follow one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Releases {
    /// The parameter that chooses one.
    pub parameter: String,
    /// The place of the one that it follows where nothing is set.
    pub default: usize,
    /// All of them, by their place.
    pub all: Vec<Release>,
}

impl Releases {
    /// Those of an object, if it names some.
    pub fn of(object: &Object) -> Option<Releases> {
        object.constants().into_iter().find_map(|constant| {
            let all = constant.tags.iter().find_map(|tag| tag.strip_prefix(TAG))?;
            let ConstantValue::Integer(default) = constant.default else { return None };
            Some(Releases {
                parameter: constant.name,
                default: usize::try_from(default).ok()?,
                all: all.split(',').map(Release::parse).collect::<Option<_>>()?,
            })
        })
    }

    /// The newest one that is not newer than a kernel.
    pub fn nearest(&self, kernel: Release) -> Option<Release> {
        self.all.iter().copied().filter(|release| *release <= kernel).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_have_a_release() {
        assert_eq!(Release::parse("6.12"), Some(Release(6, 12)));
        assert_eq!(Release::parse("Linux 7.3.4+deb13-cloud-amd64"), Some(Release(7, 3)));
        assert_eq!(Release::parse("6.18-rc1"), Some(Release(6, 18)));
        assert_eq!(["", "new", "6", "6.", "6.x", "-1.2"].map(Release::parse), [None; 6]);
        assert_eq!(Release(6, 12).to_string(), "6.12");
    }

    #[test]
    fn the_nearest_release_is_not_newer_than_the_kernel() {
        let all = vec![Release(6, 12), Release(6, 18), Release(7, 1), Release(7, 3)];
        let releases = Releases { parameter: "version".into(), default: 0, all };
        let nearest = |major, minor| releases.nearest(Release(major, minor));
        assert_eq!([nearest(7, 3), nearest(8, 0)], [Some(Release(7, 3)); 2]);
        assert_eq!(
            [nearest(7, 2), nearest(7, 0), nearest(6, 12)],
            [Release(7, 1), Release(6, 18), Release(6, 12)].map(Some)
        );
        assert_eq!(nearest(6, 1), None);
    }
}
