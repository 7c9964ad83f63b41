//! Without the rights the refusal is one line.

use schedlab_kernel::{Filter, Lack, Recorder};

/// Takes every capability from the calling thread; others keep theirs.
fn drop_capabilities() {
    // _LINUX_CAPABILITY_VERSION_3, the calling thread; no effective, permitted, inheritable ones.
    let (header, none) = ([0x2008_0522_u32, 0], [0_u32; 6]);
    // SAFETY: the kernel reads both and writes nothing.
    assert_eq!(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) }, 0);
}

#[test]
fn a_thread_without_capabilities_is_told_what_it_lacks() {
    let refused = std::thread::spawn(|| {
        drop_capabilities();
        Recorder::start(&Filter { everything: true, ..Filter::default() }, 1 << 16).err()
    });
    let lack = refused.join().unwrap().expect("no recorder without rights");
    assert_eq!(lack, Lack::Rights { missing: "CAP_BPF and CAP_PERFMON".into() });
    assert_eq!(lack.to_string(), "recording needs CAP_BPF and CAP_PERFMON, which this process lacks; run it as root");
}
