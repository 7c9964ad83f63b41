//! Releases of Linux.

use std::fmt;

/// Major and minor number.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_have_a_release() {
        let releases = ["6.12", "Linux 7.3.4+deb13-cloud-amd64", "6.18.44-fc-v669\n", "7.3-rc1"].map(Release::parse);
        assert_eq!(releases, [Release(6, 12), Release(7, 3), Release(6, 18), Release(7, 3)].map(Some));
        assert_eq!(["", "new", "6", "6.", "6.x", "-1.2"].map(Release::parse), [None; 6]);
        assert_eq!(Release(6, 12).to_string(), "6.12");
    }
}
