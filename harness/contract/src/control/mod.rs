//! The line messages between the harness and its children, and the reader that both ends share.
//!
//! One JSON object a line, at most [`MAX_LINE`] bytes, with `v` (the protocol version) and `type`
//! beside the message's own fields. Before a child's hello up to [`MAX_NOISE`] bytes of other text
//! are skipped, since a login shell may print some; after it anything else is an error that quotes
//! what came. Unknown fields from a child are ignored; an unknown field in a `prepare` is an error
//! that names it, because a child that does not know a setting must not run without it.

mod agent;
mod child;
mod line;

pub use agent::{
    AgentAnswer, AgentAsk, AgentReply, AgentRequest, Isolation, Made, MakeTopology, ReceiveCpu,
    Steering, TopologyKind,
};
pub use child::{
    CaptureSettings, ChildError, Done, Engine, Errors, Executable, FromChild, GeneratorPrepare,
    GeneratorReady, Group, GroupName, Hello, OutsidePrepare, Pass, PassInput, PassWork,
    PassesPrepare, PassesReady, ProgramReady, Ready, ReceiverPrepare, ReceiverReady, Role,
    SendMethod, Slice, SourcePorts, Stop, ToChild, TrialIdentity,
};
pub use line::{LineError, Message, Reader, common_version, quote, send};

/// The protocol versions this build can speak, lowest and highest.
pub const PROTOCOL_RANGE: [u32; 2] = [1, 2];
/// The stamp versions this build can write and read, lowest and highest.
pub const STAMP_RANGE: [u32; 2] = [1, 1];
/// Longest line either end accepts, bytes, newline included.
pub const MAX_LINE: usize = 1 << 20;
/// Most text skipped before a child's hello, bytes.
pub const MAX_NOISE: usize = 64 << 10;
/// Datagrams one `probe` message sends to each group.
pub const PROBE_BURST: u64 = 16;
/// A child that has heard one `beat` ends without another for this long, ns.
pub const BEAT_LIMIT_NS: u64 = 5_000_000_000;
/// Most flows of a trial.
pub const MAX_FLOWS: u16 = 1024;
/// `probe` messages before the harness gives up.
pub const PROBE_ATTEMPTS: u32 = 10;
