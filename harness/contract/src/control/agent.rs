//! Requests to an agent and its answers.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::child::{ChildError, Hello};
use super::line::{LineError, Message, quote, typed};
use crate::record::{HostCounters, HostFacts};

/// A request to an agent; `id` comes back with the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRequest {
    /// Number of the request, chosen by the harness.
    pub id: u64,
    /// What is asked.
    pub ask: AgentAsk,
}

/// What an agent can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentAsk {
    /// Make the namespaces of a topology and set its links up.
    Make(MakeTopology),
    /// Hold a UDP socket that keeps a port open and drops everything.
    Sink {
        /// Address and port to bind.
        address: SocketAddr,
    },
    /// Facts of the host.
    Facts,
    /// Counters in the receiver's namespace.
    Counters,
    /// Run one of the fixed programs: `ip`, `nft`, `tc`, `ethtool`.
    Run {
        /// Its name.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// End now.
    Bye,
}

/// How the agent separates a campaign from its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// User, network and mount namespace; needs no right.
    Sandbox,
    /// Network and mount namespace; needs root.
    Netns,
    /// The host's own interfaces.
    None,
}

impl Isolation {
    /// Its name, as on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Netns => "netns",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `make`: which topology, how isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MakeTopology {
    /// The topology.
    pub topology: TopologyKind,
    /// How it is isolated.
    pub isolation: Isolation,
}

/// Where a trial runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopologyKind {
    /// Generator and receiver on one loopback interface.
    Loopback,
}

impl TopologyKind {
    /// Whether the sender does the kernel's receive work: what a capture costs then slows it.
    #[must_use]
    pub const fn coupled(self) -> bool {
        match self {
            Self::Loopback => true,
        }
    }

    /// Name of the interface that is captured on.
    #[must_use]
    pub const fn interface(self) -> &'static str {
        match self {
            Self::Loopback => "lo",
        }
    }
}

/// An agent's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentReply {
    /// Number of the request; 0 for the hello.
    pub id: u64,
    /// The answer.
    pub answer: AgentAnswer,
}

/// What an agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentAnswer {
    /// First line.
    Hello(Hello),
    /// The topology stands; children enter the namespaces of this process.
    Made,
    /// The sink is bound.
    Sink,
    /// Facts by name.
    Facts(HostFacts),
    /// Counters now.
    Counters(HostCounters),
    /// The program ended.
    Ran {
        /// Its exit status, or `None` after a signal.
        status: Option<i32>,
        /// What it printed.
        stdout: String,
        /// Its complaints.
        stderr: String,
    },
    /// The request failed.
    Error(ChildError),
}

impl Message for AgentRequest {
    fn fields(&self) -> serde_json::Result<(&'static str, Value)> {
        Ok(("request", serde_json::to_value(self)?))
    }

    fn from_fields(kind: &str, fields: Value) -> Result<Self, LineError> {
        match kind {
            "request" => typed(kind, fields),
            other => Err(LineError::UnknownType(quote(other))),
        }
    }
}

impl Message for AgentReply {
    fn fields(&self) -> serde_json::Result<(&'static str, Value)> {
        Ok(match &self.answer {
            AgentAnswer::Hello(hello) => ("hello", serde_json::to_value(hello)?),
            _ => ("reply", serde_json::to_value(self)?),
        })
    }

    fn from_fields(kind: &str, fields: Value) -> Result<Self, LineError> {
        match kind {
            "hello" => Ok(Self {
                id: 0,
                answer: AgentAnswer::Hello(typed(kind, fields)?),
            }),
            "reply" => typed(kind, fields),
            other => Err(LineError::UnknownType(quote(other))),
        }
    }
}
