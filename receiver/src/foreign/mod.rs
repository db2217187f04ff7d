//! A program of the user's behind the line protocol: started, proven ready, watched, stopped, and
//! counted by what it says of itself.
//!
//! Nothing it starts outlives its receiver. What it does not say is unknown, never 0. A program
//! whose CPU time cannot be summed is refused, not measured in part.

mod cgroup;
mod counts;
mod cpu;
mod launch;
mod live;
mod output;
mod passes;
mod places;
mod quiet;
mod seal;
mod sockets;
mod stop;
mod sys;
mod tree;
mod work;
mod worker;

use wiretrial_contract::failure::Failure;

pub(crate) use live::{Live, Notice as LiveNotice};
pub(crate) use passes::{MOST_PASSES, Notice as PassesNotice, Passes};

/// Why work ends before it is done.
#[derive(Debug, PartialEq, Eq)]
enum Cut {
    /// Nobody wants it any more.
    Cancelled,
    /// It cannot go on.
    Failed(Failure),
}

impl From<Failure> for Cut {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
