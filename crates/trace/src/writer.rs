//! Takes the events of a run and writes the file that the name asks for.

use crate::{Error, Format, Header, Partial, parquet, perfetto, text};
use schedlab_model::{
    time::Time,
    trace::{Event, Sink},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Turns events into the bytes of one format.
pub(crate) trait Encoder: Send {
    /// Takes one event.
    fn event(&mut self, event: &Event) -> io::Result<()>;
    /// Writes what is still held, and the end of the file.
    fn end(&mut self, end: Time, lost: u64) -> io::Result<()>;
}

/// A trace file being written. The file gets its name when [`Writer::close`] succeeds; a writer that is dropped
/// before leaves nothing behind.
pub struct Writer {
    path: PathBuf,
    encoder: Box<dyn Encoder>,
    partial: Partial,
    lost: u64,
    state: State,
}

/// How far the file is.
enum State {
    Open,
    Ended,
    Failed(io::Error),
}

impl Writer {
    /// Whether a trace file `path` can be made, as far as can be known before there is anything to write.
    pub fn check(path: &Path) -> Result<(), Error> {
        format(path)?;
        Partial::check(path).map_err(|source| Error::Write { path: path.into(), source })
    }

    /// Begins the trace file `path` in the form that its extension names. An existing file stays until
    /// [`Writer::close`].
    pub fn create(path: impl AsRef<Path>, header: &Header) -> Result<Writer, Error> {
        let path = path.as_ref();
        let format = format(path)?;
        let begin = || {
            let (partial, file) = Partial::create(path)?;
            let encoder: Box<dyn Encoder> = match format {
                Format::Parquet => Box::new(parquet::Encoder::new(file, header)?),
                Format::Perfetto => Box::new(perfetto::Encoder::new(file, header)?),
                Format::Text => Box::new(text::Encoder::new(file, header)?),
            };
            Ok((encoder, partial))
        };
        let (encoder, partial) = begin().map_err(|source| Error::Write { path: path.into(), source })?;
        Ok(Writer { path: path.into(), encoder, partial, lost: header.lost, state: State::Open })
    }

    /// Says how many events could not be recorded. Counts when it is said before [`Sink::finish`].
    pub fn set_lost(&mut self, lost: u64) {
        self.lost = lost;
    }

    /// Gives the file its name, after [`Sink::finish`]. Fails with the first error that any of the events met.
    pub fn close(self) -> Result<(), Error> {
        match self.state {
            State::Ended => self.partial.commit().map_err(|source| Error::Write { path: self.path, source }),
            State::Open => Err(Error::Unfinished { path: self.path }),
            State::Failed(source) => Err(Error::Write { path: self.path, source }),
        }
    }
}

fn format(path: &Path) -> Result<Format, Error> {
    Format::of_name(path).ok_or_else(|| Error::UnknownExtension { path: path.into() })
}

impl Sink for Writer {
    fn event(&mut self, event: &Event) {
        if let State::Open = self.state
            && let Err(error) = self.encoder.event(event)
        {
            self.state = State::Failed(error);
        }
    }

    fn finish(&mut self, end: Time) {
        if let State::Open = self.state {
            self.state = match self.encoder.end(end, self.lost) {
                Ok(()) => State::Ended,
                Err(error) => State::Failed(error),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::{header, story};
    use std::{fs, io::Write};

    #[test]
    fn an_unknown_extension_is_an_error_that_names_the_known_ones() {
        for name in ["trace.json", "trace"] {
            let error = Writer::create(name, &header()).err().unwrap().to_string();
            let expected = "unknown kind of trace file; end the name in .parquet, .pftrace, .perfetto-trace or .txt";
            assert_eq!(error, format!("{name}: {expected}"));
        }
    }

    #[test]
    fn only_a_run_that_ended_leaves_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["trace.parquet", "trace.pftrace", "trace.txt"] {
            let path = folder.path().join(name);
            let mut writer = Writer::create(&path, &header()).unwrap();
            story().iter().for_each(|event| writer.event(event));
            assert!(matches!(writer.close(), Err(Error::Unfinished { .. })));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Writer::create(folder.path().join("none/trace.txt"), &header());
        assert!(matches!(missing, Err(Error::Write { .. })));
    }

    /// A disk with room for a number of bytes.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn encoder(format: Format, disk: Disk) -> io::Result<Box<dyn Encoder>> {
        Ok(match format {
            Format::Parquet => Box::new(parquet::Encoder::new(disk, &header())?),
            Format::Perfetto => Box::new(perfetto::Encoder::new(disk, &header())?),
            Format::Text => Box::new(text::Encoder::new(disk, &header())?),
        })
    }

    #[test]
    fn a_full_disk_is_reported_at_the_close_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for format in [Format::Parquet, Format::Perfetto, Format::Text] {
            let path = folder.path().join("trace");
            let (partial, _) = Partial::create(&path).unwrap();
            let encoder = encoder(format, Disk(20)).unwrap();
            let mut writer = Writer { path: path.clone(), encoder, partial, lost: 0, state: State::Open };
            story().iter().for_each(|event| writer.event(event));
            writer.finish(Time::from_ms(20));
            let Err(Error::Write { source, .. }) = writer.close() else { panic!("{format}: no error") };
            assert_eq!(source.kind(), io::ErrorKind::StorageFull, "{format}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
