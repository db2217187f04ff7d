//! Requests to an agent and its answers.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::child::{ChildError, Hello};
use super::line::{LineError, Message, quote, typed};
use crate::record::{HostCounters, HostFacts};
use crate::units::Family;

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
    /// Which CPU does the kernel's receive work.
    pub receive_cpu: ReceiveCpu,
}

/// Where a trial runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopologyKind {
    /// Generator and receiver on one loopback interface.
    Loopback,
    /// Two private namespaces joined by a pair of virtual Ethernet interfaces (veth(4)).
    Wire,
}

impl TopologyKind {
    /// All topologies.
    pub const ALL: [Self; 2] = [Self::Loopback, Self::Wire];

    /// Its name in campaign files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Wire => "wire",
        }
    }

    /// Name of the interface that is captured on.
    #[must_use]
    pub const fn interface(self) -> &'static str {
        match self {
            Self::Loopback => "lo",
            Self::Wire => "wtr0",
        }
    }

    /// Name of the sender's interface, in its own namespace; none where it is the receiver's.
    #[must_use]
    pub const fn sender_interface(self) -> Option<&'static str> {
        match self {
            Self::Loopback => None,
            Self::Wire => Some("wts0"),
        }
    }

    /// Address of the interface that is captured on. Wires use the networks for benchmarking (RFC
    /// 2544 appendix C.2.2, 198.18.0.0/15) and a unique local one (RFC 4193).
    #[must_use]
    pub const fn receiver_address(self, family: Family) -> IpAddr {
        match (self, family) {
            (Self::Loopback, Family::Ipv4) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            (Self::Loopback, Family::Ipv6) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            (Self::Wire, Family::Ipv4) => IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2)),
            (Self::Wire, Family::Ipv6) => {
                IpAddr::V6(Ipv6Addr::new(0xfd57, 0x7274, 0, 0, 0, 0, 0, 2))
            }
        }
    }

    /// Address of the sender's interface.
    #[must_use]
    pub const fn sender_address(self, family: Family) -> IpAddr {
        match (self, family) {
            (Self::Loopback, _) => self.receiver_address(family),
            (Self::Wire, Family::Ipv4) => IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)),
            (Self::Wire, Family::Ipv6) => {
                IpAddr::V6(Ipv6Addr::new(0xfd57, 0x7274, 0, 0, 0, 0, 0, 1))
            }
        }
    }
}

/// Which CPU does the kernel's receive work: softirq, taps, copy to the ring, wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveCpu {
    /// The sender's, inside its send calls.
    Sender,
    /// Another one, as behind a network card.
    Separate,
}

impl ReceiveCpu {
    /// Its name in campaign files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Separate => "separate",
        }
    }
}

/// What keeps the kernel's receive work off the senders' CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    /// A kernel thread polls the interface (`/sys/class/net/IF/threaded`); its CPU time is exact.
    ThreadedNapi,
    /// Receive packet steering to a CPU (`/sys/class/net/IF/queues/rx-0/rps_cpus`); its CPU time is
    /// not known.
    Rps,
}

impl Steering {
    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ThreadedNapi => "threaded_napi",
            Self::Rps => "rps",
        }
    }
}

/// What a topology came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Made {
    /// Descriptor of the agent that holds the sender's network namespace; none where it is the
    /// agent's own.
    pub sender_namespace: Option<i32>,
    /// What keeps the receive work off the senders' CPUs.
    pub steering: Option<Steering>,
    /// The kernel thread that does it, as the agent sees it; threaded NAPI only.
    pub receive_thread: Option<u32>,
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
    Made(Made),
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
