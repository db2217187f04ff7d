//! The host the harness runs on.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{Pid, geteuid};

use wiretrial_contract::clock;
use wiretrial_contract::control::{Isolation, Made, ReceiveCpu, Role, Steering, TopologyKind};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Placement;
use wiretrial_contract::record::{HostCounters, HostFacts, HostWindow};

use super::agent::Agent;
use super::child::LocalChild;
use super::class::Nic;
use super::interrupt::Interrupt;
use super::isolation::{IsolationChoice, Resolved, Trial};
use super::lock::HostLock;
use super::namespaces::{Entry, Namespaces};
use super::tasks::TaskTimes;
use super::{Host, Launch, Process, placement, ports, quiet};
use crate::agent::allowed_cpus;

/// What a [`LocalHost`] is made from.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The executable that has the verb `agent`; `/proc/self/exe` is this one.
    pub executable: &'a Path,
    /// The receivers of all arms: under isolation `none` each needs the right to capture.
    pub receivers: &'a [&'a Path],
    /// The isolation asked for.
    pub isolation: IsolationChoice,
    /// The topology to make.
    pub topology: TopologyKind,
    /// Which CPU does the kernel's receive work there.
    pub receive_cpu: ReceiveCpu,
    /// The flag that ends every wait.
    pub interrupt: Interrupt,
    /// The lock of this host, if it is held already.
    pub lock: Option<HostLock>,
    /// Where a line goes for whoever waits.
    pub say: fn(&str),
}

/// This host, locked for one campaign, with an agent that holds its namespaces. All of it vanishes
/// when it is dropped, and when the harness is killed.
#[derive(Debug)]
pub struct LocalHost {
    agent: Agent,
    isolation: Isolation,
    topology: TopologyKind,
    made: Made,
    notes: Vec<String>,
    facts: HostFacts,
    namespaces: Option<Arc<Namespaces>>,
    /// Those of senders.
    sending: Option<Arc<Namespaces>>,
    interrupt: Interrupt,
    window: Option<Window>,
    say: fn(&str),
    _lock: HostLock,
}

/// The start of a trial's window.
#[derive(Debug)]
struct Window {
    ours: BTreeSet<u32>,
    tasks: Option<TaskTimes>,
    counters: HostCounters,
}

impl LocalHost {
    /// Locks the host, finds the isolation, starts the agent and has it make the topology.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: another campaign holds the host, or the isolation or the topology cannot be
    /// had; or a failure of the agent, or [`Failure::interrupted`].
    pub fn open(setting: &Setting<'_>) -> Result<Self, Failure> {
        let lock = setting.lock.clone().map_or_else(HostLock::take, Ok)?;
        let trial = Trial {
            executable: setting.executable,
            lock: &lock,
            topology: setting.topology,
            receive_cpu: setting.receive_cpu,
            receivers: setting.receivers,
            interrupt: &setting.interrupt,
        };
        let Resolved {
            isolation,
            mut agent,
            made,
            mut notes,
        } = trial.resolve(setting.isolation)?;
        if made.steering == Some(Steering::Rps) {
            notes.push(
                "wire: no kernel thread for the receive work can be had or seen here; receive packet \
                 steering moves it; its CPU time is not known, nor what a capture costs in all"
                    .into(),
            );
        }
        let namespaces = agent.namespaces(isolation)?;
        Ok(Self {
            facts: agent.facts()?,
            sending: agent.sending(namespaces.as_ref(), &made)?.map(Arc::new),
            namespaces: namespaces.map(Arc::new),
            agent,
            isolation,
            topology: setting.topology,
            made,
            notes,
            interrupt: setting.interrupt.clone(),
            window: None,
            say: setting.say,
            _lock: lock,
        })
    }

    /// The isolation in force.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// What the topology came to be.
    #[must_use]
    pub fn made(&self) -> &Made {
        &self.made
    }

    /// The network card of the topology, for the host class.
    #[must_use]
    pub fn nic(&self) -> Option<Nic> {
        (self.topology == TopologyKind::Wire).then(|| Nic {
            driver: Some("veth".into()),
            speed_mbps: None,
        })
    }

    /// `placement` with what moves the receive work and the CPU that is kept for it, read back.
    #[must_use]
    pub fn steered(&self, placement: Placement) -> Placement {
        let kept = self.made.receive_thread.and_then(|thread| {
            let cpus = allowed_cpus(Pid::from_raw(i32::try_from(thread).ok()?));
            let last = *self.facts.cpus_allowed.last()?;
            (cpus == [last]).then_some(last)
        });
        Placement {
            steering: self.made.steering,
            receive_thread: kept,
            ..placement
        }
    }

    /// What the user should know about it, each a sentence.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Facts of the host, read before the namespaces were made and anything was pinned.
    #[must_use]
    pub fn facts(&self) -> &HostFacts {
        &self.facts
    }

    /// The agent, for sinks and programs.
    pub fn agent(&mut self) -> &mut Agent {
        &mut self.agent
    }

    /// Starts a receiver once, and gives what it says of its libpcap.
    ///
    /// # Errors
    ///
    /// As [`Host::launch`].
    pub fn libpcap_of(&mut self, receiver: &Path) -> Result<Option<String>, Failure> {
        // Its complaints are read back and wanted nowhere else: a file without a name.
        let complaints = memfd_create("stderr", MFdFlags::MFD_CLOEXEC)
            .map_err(|errno| Failure::host(format!("cannot make a file in memory: {errno}")))?;
        let stderr = format!("/proc/{}/fd/{}", std::process::id(), complaints.as_raw_fd());
        let mut process = self.launch(&Launch {
            role: Role::Receiver,
            name: "receiver".into(),
            program: receiver.to_owned(),
            padding: 0,
            stderr: stderr.into(),
        })?;
        let libpcap = process.hello().libpcap.clone();
        process.end();
        Ok(libpcap)
    }

    /// Checks that all these UDP ports are free together. In a private network they always are.
    ///
    /// # Errors
    ///
    /// [`Failure::host`]: which is in use, and by whom.
    pub fn check_ports(&self, addresses: &[SocketAddr]) -> Result<(), Failure> {
        if self.isolation == Isolation::None {
            ports::check_free(addresses)?;
        }
        Ok(())
    }

    /// Keeps the harness and the agent on the CPUs of the senders. Whether they are there, read
    /// back; `false` when `placement` pins nothing.
    #[must_use]
    pub fn pin(&self, placement: &Placement) -> bool {
        placement::pin(placement, self.agent.pid())
    }

    /// The harness with all its descendants, the agent among them, and the processes of a trial.
    fn ours(&self, others: &[u32]) -> BTreeSet<u32> {
        let known = [std::process::id(), self.agent.pid()];
        known.into_iter().chain(others.iter().copied()).collect()
    }
}

impl Host for LocalHost {
    fn launch(&mut self, launch: &Launch) -> Result<Box<dyn Process>, Failure> {
        let entry = Entry {
            namespaces: match launch.role {
                Role::Generator => self.sending.clone(),
                Role::Receiver | Role::Agent => self.namespaces.clone(),
            },
            keep_rights: self.isolation == Isolation::Sandbox && !geteuid().is_root(),
            inherit: None,
        };
        let interfaces = PathBuf::from(format!("/proc/{}/net/dev", self.agent.pid()));
        let child = LocalChild::launch(launch, entry, Some(interfaces), self.interrupt.clone())?;
        Ok(Box::new(child))
    }

    fn wait_quiet(&mut self, rest: Duration, cpus: f64) -> Result<Option<f64>, Failure> {
        let ours = self.ours(&[]);
        quiet::wait(
            rest,
            cpus,
            || TaskTimes::read(&ours),
            |time| self.interrupt.sleep(time),
            |used| {
                (self.say)(&format!(
                    "  waiting until other programs use less than {:.1} % of a CPU; they use {:.0} %",
                    cpus * 100.0,
                    used * 100.0
                ));
            },
        )
    }

    fn begin_window(&mut self, ours: &[u32]) -> Result<(), Failure> {
        let ours = self.ours(ours);
        self.window = Some(Window {
            tasks: TaskTimes::read(&ours),
            counters: self.agent.counters()?,
            ours,
        });
        Ok(())
    }

    fn end_window(&mut self) -> Result<HostWindow, Failure> {
        let Some(start) = self.window.take() else {
            return Err(Failure::evidence(
                "the counters at the start of the trial were not taken",
            ));
        };
        // The window of tasks encloses the one of counters.
        let end = self.agent.counters()?;
        let foreign_cpu_ns = start.tasks.and_then(|before| {
            let now = TaskTimes::read(&start.ours)?;
            Some(now.used_since(&before))
        });
        Ok(HostWindow {
            start: start.counters,
            end,
            foreign_cpu_ns,
        })
    }

    fn alive(&mut self) -> Result<(), Failure> {
        match self.agent.counters() {
            Err(failure) if failure != Failure::interrupted() => {
                Err(Failure::host(failure.message))
            }
            other => other.map(drop),
        }
    }

    fn now_ns(&self) -> u64 {
        clock::monotonic_ns()
    }
}
