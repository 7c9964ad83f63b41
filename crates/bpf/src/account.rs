//! The account of what a policy can make grow: its maps, the objects that it makes, lines that it prints, records, and
//! what the host keeps about all that.
//!
//! One account for each simulation, in its [`GuestMemory`](crate::GuestMemory), whichever part of the program holds
//! what is charged.

use crate::memory::MemoryError;

/// Bytes that one policy may make grow.
const LIMIT: u64 = 1 << 30;

/// Bytes in use.
#[derive(Debug, Default)]
pub struct Account {
    used: u64,
}

impl Account {
    /// Takes bytes; an error if fewer are left.
    pub fn charge(&mut self, what: &str, bytes: u64) -> Result<(), MemoryError> {
        match self.used.checked_add(bytes).filter(|&used| used <= LIMIT) {
            Some(used) => {
                self.used = used;
                Ok(())
            }
            None => Err(MemoryError::Limit { what: what.to_string(), len: bytes, used: self.used, limit: LIMIT }),
        }
    }

    /// Gives bytes back.
    pub fn refund(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.used, "{bytes} of {}", self.used);
        self.used = self.used.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_named_and_takes_nothing() {
        let mut account = Account::default();
        account.charge("records", LIMIT - 10).unwrap();
        let text = account.charge("lines", 11).unwrap_err().to_string();
        assert!(text.contains("lines needs 11 bytes more") && text.contains("1024 MiB"), "{text}");
        account.charge("lines", 10).unwrap();
        account.refund(20);
        account.charge("lines", 20).unwrap();
    }
}
