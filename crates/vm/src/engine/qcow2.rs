//! An empty disk image in which QEMU keeps a machine's state: QEMU makes one only with a program of another package.
//!
//! The layout is that of QEMU's `docs/interop/qcow2.txt`, version 3: a header, a table of blocks of reference counts, one such
//! block, and the table of the disk's clusters, which has no entry in use. Each takes one cluster. Numbers are big-endian.

use std::fs;
use std::io;
use std::path::Path;

/// Bits of an offset inside of a cluster.
const CLUSTER_BITS: u32 = 16;
const CLUSTER: u64 = 1 << CLUSTER_BITS;
/// The disk's size: it is never read.
const DISK_BYTES: u64 = 1 << 20;
/// Where the parts are, in clusters.
const COUNTS_TABLE: u64 = 1;
const COUNTS: u64 = 2;
const DISK_TABLE: u64 = 3;
const PARTS: u64 = 4;

/// Writes an empty image.
pub fn create(path: &Path) -> io::Result<()> {
    let mut image = header();
    image.resize((COUNTS_TABLE * CLUSTER) as usize, 0);
    image.extend((COUNTS * CLUSTER).to_be_bytes());
    image.resize((COUNTS * CLUSTER) as usize, 0);
    // Each part is used once.
    (0..PARTS).for_each(|_| image.extend(1_u16.to_be_bytes()));
    image.resize((PARTS * CLUSTER) as usize, 0);
    fs::write(path, image)
}

fn header() -> Vec<u8> {
    let mut header = b"QFI\xfb".to_vec();
    let word = |header: &mut Vec<u8>, value: u32| header.extend(value.to_be_bytes());
    let long = |header: &mut Vec<u8>, value: u64| header.extend(value.to_be_bytes());
    word(&mut header, 3);
    // No image below: neither where its name is nor how long.
    long(&mut header, 0);
    word(&mut header, 0);
    word(&mut header, CLUSTER_BITS);
    long(&mut header, DISK_BYTES);
    // Not encrypted.
    word(&mut header, 0);
    // The table of the disk's clusters has an entry for as many of them as one cluster of entries describes.
    word(&mut header, 1);
    long(&mut header, DISK_TABLE * CLUSTER);
    long(&mut header, COUNTS_TABLE * CLUSTER);
    word(&mut header, 1);
    // No snapshots.
    word(&mut header, 0);
    long(&mut header, 0);
    // No features: none that must be known, none that may be, none that ends with the next change.
    (0..3).for_each(|_| long(&mut header, 0));
    // Reference counts have 2^4 bits.
    word(&mut header, 4);
    word(&mut header, 104);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_length_that_it_names() {
        let header = header();
        assert_eq!(u32::from_be_bytes(header[100..].try_into().unwrap()) as usize, header.len());
    }
}
