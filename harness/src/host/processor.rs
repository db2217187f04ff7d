//! What the processor counts here.

use perf_event::Builder;
use perf_event::events::Hardware;

/// Whether instructions in user space can be counted, tried on this process (perf_event_open(2)).
///
/// # Errors
///
/// Why they cannot, with what changes it, for a sentence.
pub fn counts_instructions() -> Result<(), String> {
    let Err(error) = Builder::new(Hardware::INSTRUCTIONS).build() else {
        return Ok(());
    };
    Err(match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP) => {
            "this processor shows no such counter here; virtual machines often do not".into()
        }
        Some(libc::EACCES | libc::EPERM) => {
            "the kernel does not allow it; sudo sysctl -w kernel.perf_event_paranoid=2".into()
        }
        _ => error.to_string(),
    })
}
