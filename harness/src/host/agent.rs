//! The harness's end of an agent.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use wiretrial_contract::control::{
    AgentAnswer, AgentAsk, AgentReply, AgentRequest, ChildError, Hello, Isolation, Made,
    MakeTopology, ReceiveCpu, Role, TopologyKind,
};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::record::{HostCounters, HostFacts};

use super::interrupt::Interrupt;
use super::lock::HostLock;
use super::namespaces::{Entry, Namespaces};
use super::peer::{HELLO, Peer, Reply};

/// How long an agent may take to answer: longer than a program it runs.
const ANSWER: Duration = Duration::from_secs(12);

/// A running agent. Dropping it ends it, and what it made with it.
#[derive(Debug)]
pub struct Agent {
    peer: Peer<AgentReply>,
    last_id: u64,
    hello: Hello,
}

impl Reply for AgentReply {
    fn error(&self) -> Option<&ChildError> {
        match &self.answer {
            AgentAnswer::Error(error) => Some(error),
            _ => None,
        }
    }
}

impl Agent {
    /// Starts `executable agent`, which inherits the campaign's lock, and hears its hello.
    ///
    /// # Errors
    ///
    /// It cannot be started, ends, says nothing within 5 s, or has no protocol version in common.
    pub fn start(
        executable: &Path,
        lock: Option<&HostLock>,
        interrupt: Interrupt,
    ) -> Result<Self, Failure> {
        let mut command = Command::new(executable);
        command.arg("agent");
        let entry = Entry {
            inherit: lock.map(HostLock::descriptor),
            ..Entry::default()
        };
        entry.prepare(&mut command);
        let mut peer: Peer<AgentReply> = Peer::start("agent", command, None, interrupt)?;
        let reply = peer.hear(HELLO, "hello")?;
        let AgentAnswer::Hello(hello) = reply.answer else {
            return Err(peer
                .reported(&reply)
                .unwrap_or_else(|| unexpected("hello", &reply.answer)));
        };
        peer.check_hello(&hello, Role::Agent)?;
        Ok(Self {
            peer,
            last_id: 0,
            hello,
        })
    }

    /// What it said first.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.peer.pid()
    }

    /// Makes a topology. After an error the agent is of no further use.
    ///
    /// # Errors
    ///
    /// The agent's own sentence, or as [`Agent::ask`].
    pub fn make(
        &mut self,
        topology: TopologyKind,
        receive_cpu: ReceiveCpu,
        isolation: Isolation,
    ) -> Result<Made, Failure> {
        let make = MakeTopology {
            topology,
            isolation,
            receive_cpu,
        };
        match self.ask(AgentAsk::Make(make))? {
            AgentAnswer::Made(made) => Ok(made),
            other => Err(unexpected("made", &other)),
        }
    }

    /// Facts of its host, as they were when it started.
    ///
    /// # Errors
    ///
    /// As [`Agent::ask`].
    pub fn facts(&mut self) -> Result<HostFacts, Failure> {
        match self.ask(AgentAsk::Facts)? {
            AgentAnswer::Facts(facts) => Ok(facts),
            other => Err(unexpected("facts", &other)),
        }
    }

    /// Counters in its namespace.
    ///
    /// # Errors
    ///
    /// As [`Agent::ask`].
    pub fn counters(&mut self) -> Result<HostCounters, Failure> {
        match self.ask(AgentAsk::Counters)? {
            AgentAnswer::Counters(counters) => Ok(counters),
            other => Err(unexpected("counters", &other)),
        }
    }

    /// Binds a sink in its namespace, which stays as long as the agent.
    ///
    /// # Errors
    ///
    /// The agent's own sentence, or as [`Agent::ask`].
    pub fn sink(&mut self, address: SocketAddr) -> Result<(), Failure> {
        match self.ask(AgentAsk::Sink { address })? {
            AgentAnswer::Sink => Ok(()),
            other => Err(unexpected("sink", &other)),
        }
    }

    /// Asks anything and waits 12 s at most.
    ///
    /// # Errors
    ///
    /// The agent answered with an error (its sentence and code), ended, said nothing in time or
    /// something else; or [`Failure::interrupted`].
    pub fn ask(&mut self, ask: AgentAsk) -> Result<AgentAnswer, Failure> {
        let due = match &ask {
            AgentAsk::Make(_) => "the topology was made",
            AgentAsk::Sink { .. } => "the sink was bound",
            AgentAsk::Facts => "its facts",
            AgentAsk::Counters => "its counters",
            AgentAsk::Run { .. } => "the end of a program",
            AgentAsk::Bye => "its end",
        };
        self.last_id += 1;
        let id = self.last_id;
        self.peer.say(&AgentRequest { id, ask }, due)?;
        let reply = self.peer.hear(ANSWER, due)?;
        match reply.answer {
            AgentAnswer::Error(ChildError { code, message }) => Err(Failure { code, message }),
            answer if reply.id == id => Ok(answer),
            _ => Err(Failure::evidence(format!(
                "agent answered request {} when {id} was asked",
                reply.id
            ))),
        }
    }

    /// Its namespaces, held open.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: they cannot be opened.
    pub(super) fn namespaces(&self, isolation: Isolation) -> Result<Option<Namespaces>, Failure> {
        if isolation == Isolation::None {
            return Ok(None);
        }
        Namespaces::of(self.pid(), isolation == Isolation::Sandbox)
            .map(Some)
            .map_err(|error| Failure::host(format!("cannot open the agent's namespaces: {error}")))
    }

    /// Where senders are: `namespaces`, unless the topology gave them a network of their own.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: it cannot be opened.
    pub(super) fn sending(
        &self,
        namespaces: Option<&Namespaces>,
        made: &Made,
    ) -> Result<Option<Namespaces>, Failure> {
        let other = |descriptor| Some(namespaces?.with_network(self.pid(), descriptor));
        let sending = match made.sender_namespace {
            Some(descriptor) => other(descriptor),
            None => namespaces.map(Namespaces::try_clone),
        };
        sending
            .transpose()
            .map_err(|error| Failure::host(format!("cannot open the sender's namespace: {error}")))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let bye = AgentRequest {
            id: self.last_id + 1,
            ask: AgentAsk::Bye,
        };
        self.peer.end(&bye);
    }
}

fn unexpected(wanted: &str, answer: &AgentAnswer) -> Failure {
    let said = wiretrial_contract::control::quote(&format!("{answer:?}"));
    Failure::evidence(format!("agent answered \"{said}\" when {wanted} was due"))
}
