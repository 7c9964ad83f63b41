//! Files that guest memory shares with another process. A page has neither: there, nothing can be a file.

#[cfg(unix)]
pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[cfg(not(unix))]
pub use none::{AsFd, BorrowedFd, OwnedFd};

#[cfg(not(unix))]
mod none {
    use std::convert::Infallible;
    use std::marker::PhantomData;

    /// A file of ours, of which there is none.
    #[derive(Debug)]
    pub struct OwnedFd(Infallible);

    /// The same for a while.
    #[derive(Clone, Copy, Debug)]
    pub struct BorrowedFd<'a>(Infallible, PhantomData<&'a OwnedFd>);

    /// What has a descriptor.
    pub trait AsFd {
        /// The descriptor.
        fn as_fd(&self) -> BorrowedFd<'_>;
    }

    impl AsFd for OwnedFd {
        fn as_fd(&self) -> BorrowedFd<'_> {
            BorrowedFd(self.0, PhantomData)
        }
    }
}
