//! The init of a guest. Started anywhere else it does nothing but say so.

fn main() -> std::process::ExitCode {
    if std::process::id() != 1 {
        eprintln!(
            "schedlab-guest: this is the first program of a virtual machine; `schedlab run --venue vm` starts one"
        );
        return std::process::ExitCode::from(2);
    }
    schedlab_guest::init::main()
}
