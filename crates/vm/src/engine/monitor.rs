//! QEMU's monitor (QMP): a line of JSON for each command, for each answer and for each event.
//!
//! An answer takes as long as it takes. The guest's own limits end QEMU, and with it the connection.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The longest line that is read.
const LINE_BYTES: u64 = 1 << 20;

/// A monitor that takes commands.
pub struct Monitor(BufReader<UnixStream>);

impl Monitor {
    /// The one that listens at a socket.
    pub fn of(socket: &Path) -> io::Result<Monitor> {
        let mut monitor = Monitor(BufReader::new(connect(socket)?));
        monitor.line()?;
        monitor.ask("qmp_capabilities", Value::Null)?;
        Ok(monitor)
    }

    /// Waits until the machine has been stopped. It is asked once: events before that are not told.
    pub fn wait_until_stopped(&mut self) -> io::Result<()> {
        let mut is_stopped = self.ask("query-status", Value::Null)?["running"] == Value::Bool(false);
        while !is_stopped {
            is_stopped = self.line()?["event"] == "STOP";
        }
        Ok(())
    }

    /// Writes the state of the machine to its disk, under a name.
    pub fn save(&mut self, name: &str) -> io::Result<()> {
        let said = self.ask("human-monitor-command", json!({ "command-line": format!("savevm {name}") }))?;
        match said.as_str().map(str::trim) {
            Some("") => Ok(()),
            _ => Err(io::Error::other(format!("the monitor says {said}"))),
        }
    }

    /// Ends QEMU.
    pub fn quit(mut self) -> io::Result<()> {
        self.ask("quit", Value::Null).map(drop)
    }

    /// What a command gives.
    fn ask(&mut self, command: &str, arguments: Value) -> io::Result<Value> {
        let mut question = json!({ "execute": command });
        if !arguments.is_null() {
            question["arguments"] = arguments;
        }
        self.0.get_mut().write_all(format!("{question}\n").as_bytes())?;
        loop {
            let mut line = self.line()?;
            if let Some(error) = line.get("error") {
                return Err(io::Error::other(format!("the monitor refuses {command}: {error}")));
            }
            if let Some(answer) = line.get_mut("return") {
                return Ok(answer.take());
            }
        }
    }

    fn line(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if io::Read::take(&mut self.0, LINE_BYTES).read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}

/// Connects to a socket whose path may be too long for an address: its folder is named by a descriptor.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = File::open(folder)?;
    UnixStream::connect(Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// A monitor that gives these lines, one after each that it hears; the first at once.
    fn monitor(folder: &Path, lines: &'static [&str]) -> io::Result<Monitor> {
        let socket = folder.join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = BufReader::new(stream.try_clone().unwrap());
            for line in lines {
                writeln!(stream, "{line}").unwrap();
                heard.read_line(&mut String::new()).unwrap();
            }
        });
        Monitor::of(&socket)
    }

    #[test]
    fn answers_are_found_among_events() {
        let folder = tempfile::tempdir().unwrap();
        let lines = &[
            "{\"QMP\": {}}",
            "{\"return\": {}}",
            "{\"event\": \"X\"}\n{\"return\": {\"running\": true}}\n{\"event\": \"STOP\"}",
        ];
        monitor(folder.path(), lines).unwrap().wait_until_stopped().unwrap();
    }

    #[test]
    fn what_is_refused_or_did_not_work_is_an_error() {
        let cases: [(&[&str], &str); 3] = [
            (
                &["{}", "{\"return\": {}}", "{\"return\": \"Error: no disk\\r\\n\"}"],
                "the monitor says \"Error: no disk",
            ),
            (
                &["{}", "{\"return\": {}}", "{\"error\": {\"class\": \"x\"}}"],
                "the monitor refuses human-monitor-command",
            ),
            (&["{}", "{\"return\": {}}", "so"], "expected value"),
        ];
        for (lines, text) in cases {
            let folder = tempfile::tempdir().unwrap();
            let error = monitor(folder.path(), lines).unwrap().save("x").unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
