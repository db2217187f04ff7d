//! The agent: the process on a host that holds its namespaces, counters and facts.
//!
//! It answers requests on its standard input one after the other and ends with it, on `bye` or on
//! SIGTERM. It has one thread, since a process with several cannot make a user namespace. It
//! writes no file, listens to nobody and runs only four programs; all it made vanishes with it and
//! the processes in its namespaces.

mod counters;
mod facts;
mod identity;
mod kernel;
mod namespaces;
mod nursery;
mod programs;
mod proof;
mod sink;
mod steering;
pub(crate) mod sys;
mod ticks;
mod wire;

use std::io::{self, Write};
use std::process::ExitCode;

use nix::unistd::geteuid;

use wiretrial_contract::control::{
    AgentAnswer, AgentAsk, AgentReply, AgentRequest, ChildError, Hello, Isolation, MAX_LINE, Made,
    MakeTopology, PROTOCOL_RANGE, Reader, Role, send,
};
use wiretrial_contract::record::HostFacts;
use wiretrial_contract::{digest, exit};

pub(crate) use facts::allowed_cpus;
pub(crate) use namespaces::{NEEDS_PRIVATE, RESTRICTED};

use programs::Place;
use sink::Sink;
use wire::Wire;

/// Speaks the line protocol on standard input and output until the input ends.
///
/// Code 0 at the end of the input or after `bye`, [`exit::USAGE`] after a line that is no request,
/// which is answered with its error.
#[must_use]
pub fn serve() -> ExitCode {
    // An error means that the harness closed the pipe: as good as the end of the input.
    let code = converse(&mut io::stdout().lock()).unwrap_or(exit::DONE);
    ExitCode::from(code)
}

fn converse(out: &mut impl Write) -> io::Result<u8> {
    let mut agent = Agent {
        facts: facts::read(),
        made: None,
        wire: None,
        sinks: Vec::new(),
    };
    send(out, &reply(0, AgentAnswer::Hello(hello()?)))?;
    let mut requests = Reader::new(io::stdin().lock());
    loop {
        let request: AgentRequest = match requests.receive() {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(exit::DONE),
            Err(error) => {
                send(out, &reply(0, refuse(exit::USAGE, error.to_string())))?;
                return Ok(exit::USAGE);
            }
        };
        if request.ask == AgentAsk::Bye {
            return Ok(exit::DONE);
        }
        let answer = agent
            .answer(request.ask)
            .unwrap_or_else(|error| refuse(exit::HOST, error));
        out.write_all(&line(request.id, answer)?)?;
        out.flush()?;
    }
}

/// What an agent holds.
#[derive(Debug)]
struct Agent {
    facts: HostFacts,
    made: Option<Isolation>,
    wire: Option<Wire>,
    sinks: Vec<Sink>,
}

impl Agent {
    fn answer(&mut self, ask: AgentAsk) -> Result<AgentAnswer, String> {
        if self.made.is_none() && !matches!(ask, AgentAsk::Make(_) | AgentAsk::Facts) {
            // After a failed make the rest would happen on the host.
            return Err("no namespaces are made yet; ask make first".into());
        }
        Ok(match ask {
            AgentAsk::Make(make) => AgentAnswer::Made(self.make(make)?),
            AgentAsk::Sink { address } => {
                let sink = Sink::bind(address)
                    .map_err(|error| format!("cannot bind the sink to {address}: {error}"))?;
                self.sinks.push(sink);
                AgentAnswer::Sink
            }
            AgentAsk::Facts => AgentAnswer::Facts(self.facts.clone()),
            AgentAsk::Counters => {
                AgentAnswer::Counters(counters::read(&self.sinks, self.wire.as_ref())?)
            }
            AgentAsk::Run { program, arguments } => {
                let place = Place {
                    keep_rights: self.made.is_some_and(keeps_rights),
                    network: None,
                };
                let ran = programs::run(&program, &arguments, place)?;
                AgentAnswer::Ran {
                    status: ran.status,
                    stdout: ran.stdout,
                    stderr: ran.stderr,
                }
            }
            AgentAsk::Bye => return Err("bye has no answer".into()),
        })
    }

    fn make(&mut self, make: MakeTopology) -> Result<Made, String> {
        if let Some(made) = self.made {
            return Err(format!(
                "isolation {made} is made already; start another agent"
            ));
        }
        let sender = namespaces::make(make.isolation, make.topology)?;
        let keep_rights = keeps_rights(make.isolation);
        let cpus = &self.facts.cpus_allowed;
        self.wire = sender
            .map(|sender| Wire::make(sender, keep_rights, make.receive_cpu, cpus))
            .transpose()?;
        self.made = Some(make.isolation);
        Ok(self.wire.as_ref().map(Wire::made).unwrap_or_default())
    }
}

/// Whether programs that this process starts would lose the rights it has in its namespaces.
fn keeps_rights(isolation: Isolation) -> bool {
    isolation == Isolation::Sandbox && !geteuid().is_root()
}

/// The answer as a line; one that is too long for the protocol becomes an error.
fn line(id: u64, answer: AgentAnswer) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    send(&mut bytes, &reply(id, answer))?;
    if bytes.len() > MAX_LINE {
        let error = format!("the answer is longer than {MAX_LINE} bytes");
        bytes.clear();
        send(&mut bytes, &reply(id, refuse(exit::HOST, error)))?;
    }
    Ok(bytes)
}

fn reply(id: u64, answer: AgentAnswer) -> AgentReply {
    AgentReply { id, answer }
}

fn refuse(code: u8, message: String) -> AgentAnswer {
    AgentAnswer::Error(ChildError { code, message })
}

fn hello() -> io::Result<Hello> {
    Ok(Hello {
        role: Role::Agent,
        protocol: PROTOCOL_RANGE,
        stamp: [0, 0],
        version: env!("CARGO_PKG_VERSION").into(),
        sha256: digest::sha256_self()?,
        pid: std::process::id(),
        libpcap: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretrial_contract::control::{ReceiveCpu, TopologyKind};

    fn agent() -> Agent {
        Agent {
            facts: HostFacts::default(),
            made: None,
            wire: None,
            sinks: Vec::new(),
        }
    }

    #[test]
    fn namespaces_are_made_once() {
        let make = AgentAsk::Make(MakeTopology {
            topology: TopologyKind::Loopback,
            receive_cpu: ReceiveCpu::Sender,
            isolation: Isolation::None,
        });
        let mut agent = agent();
        assert_eq!(
            agent.answer(make.clone()),
            Ok(AgentAnswer::Made(Made::default()))
        );
        assert!(agent.answer(make).unwrap_err().contains("made already"));
    }

    #[test]
    fn a_wire_is_never_made_on_the_host() {
        let make = AgentAsk::Make(MakeTopology {
            topology: TopologyKind::Wire,
            receive_cpu: ReceiveCpu::Separate,
            isolation: Isolation::None,
        });
        let mut agent = agent();
        let error = agent.answer(make).unwrap_err();
        assert!(error.contains("needs a private network"), "{error}");
        assert_eq!(agent.made, None);
    }

    #[test]
    fn nothing_touches_the_host_before_make() {
        let run = AgentAsk::Run {
            program: "ip".into(),
            arguments: vec!["link".into()],
        };
        for ask in [AgentAsk::Counters, run] {
            assert!(agent().answer(ask).unwrap_err().contains("make first"));
        }
        assert!(agent().answer(AgentAsk::Facts).is_ok());
    }

    #[test]
    fn a_sink_on_a_port_in_use_names_the_address() {
        let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let mut agent = agent();
        agent.made = Some(Isolation::None);
        let error = agent.answer(AgentAsk::Sink { address }).unwrap_err();
        assert!(error.contains(&address.to_string()), "{error}");
    }

    #[test]
    fn an_answer_that_is_too_long_for_a_line_is_an_error() {
        let ran = AgentAnswer::Ran {
            status: Some(0),
            stdout: "\"".repeat(MAX_LINE),
            stderr: String::new(),
        };
        let bytes = line(4, ran).unwrap();
        let back: AgentReply = Reader::new(&bytes[..]).receive().unwrap().unwrap();
        assert_eq!(back.id, 4);
        assert!(matches!(back.answer, AgentAnswer::Error(_)));
    }
}
