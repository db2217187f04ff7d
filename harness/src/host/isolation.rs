//! Which isolation a campaign gets: found by trying it, never by reading a setting. Settings are
//! read only afterwards, to name the command that mends.

use std::fs;
use std::path::Path;

use nix::unistd::geteuid;

use wiretrial_contract::control::{Isolation, Made, ReceiveCpu, TopologyKind};
use wiretrial_contract::failure::Failure;

use super::agent::Agent;
use super::interrupt::Interrupt;
use super::lock::HostLock;
use crate::agent::{NEEDS_PRIVATE, RESTRICTED, sys};

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum IsolationChoice {
    /// `netns` for root, `sandbox` for others, else `none`.
    #[default]
    Auto,
    /// A user, network and mount namespace; needs no right.
    Sandbox,
    /// A network and mount namespace; needs root.
    Netns,
    /// The host's own interfaces.
    None,
}

/// An agent that holds the namespaces of an isolation.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) isolation: Isolation,
    pub(super) agent: Agent,
    /// What the topology came to be.
    pub(super) made: Made,
    /// What the user should know, each a sentence.
    pub(super) notes: Vec<String>,
}

/// What trying needs.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    /// The executable that has the verb `agent`.
    pub(super) executable: &'a Path,
    /// The campaign's lock.
    pub(super) lock: &'a HostLock,
    /// The topology to make.
    pub(super) topology: TopologyKind,
    /// Which CPU does the kernel's receive work there.
    pub(super) receive_cpu: ReceiveCpu,
    /// Receivers whose file capabilities would give the right to capture on the host.
    pub(super) receivers: &'a [&'a Path],
    /// The flag.
    pub(super) interrupt: &'a Interrupt,
}

impl Trial<'_> {
    /// Starts an agent with the isolation that was asked for, or with the best there is.
    ///
    /// # Errors
    ///
    /// [`Failure::host`] with the command that mends it, a failure of the agent, or
    /// [`Failure::interrupted`].
    pub(super) fn resolve(&self, choice: IsolationChoice) -> Result<Resolved, Failure> {
        let root = geteuid().is_root();
        let first = match choice {
            IsolationChoice::Netns if !root => {
                return Err(Failure::host(
                    "isolation netns needs root; run as root, or --isolation sandbox",
                ));
            }
            IsolationChoice::None => return self.on_the_host(),
            IsolationChoice::Netns => Isolation::Netns,
            IsolationChoice::Sandbox => Isolation::Sandbox,
            IsolationChoice::Auto if root => Isolation::Netns,
            IsolationChoice::Auto => Isolation::Sandbox,
        };
        let refused = match self.make(first) {
            Ok(made) => return Ok(resolved(first, made)),
            Err(failure) if failure.code != wiretrial_contract::exit::HOST => return Err(failure),
            Err(failure) => explain(&failure.message),
        };
        if choice != IsolationChoice::Auto {
            return Err(Failure::host(format!("isolation: {refused}")));
        }
        match self.on_the_host() {
            Ok(mut resolved) => {
                resolved
                    .notes
                    .push(format!("isolation: {refused}; using none on lo"));
                Ok(resolved)
            }
            Err(failure) if failure.code == wiretrial_contract::exit::HOST => Err(Failure::host(
                format!("isolation: {refused}, and {}", failure.message),
            )),
            Err(failure) => Err(failure),
        }
    }

    fn on_the_host(&self) -> Result<Resolved, Failure> {
        if self.topology == TopologyKind::Wire {
            return Err(Failure::host(NEEDS_PRIVATE));
        }
        let without: Vec<&&Path> = if sys::packet_socket("lo").is_ok() {
            Vec::new()
        } else {
            let lacks = |receiver: &&&Path| !sys::gives_capability(receiver, sys::CAP_NET_RAW);
            self.receivers.iter().filter(lacks).collect()
        };
        if let Some(receiver) = without.first() {
            return Err(Failure::host(format!(
                "cannot capture on lo: needs cap_net_raw. sudo setcap cap_net_raw+ep {} (again after \
                 each rebuild), or run in a private network: --isolation sandbox",
                receiver.display()
            )));
        }
        Ok(resolved(Isolation::None, self.make(Isolation::None)?))
    }

    /// An agent of its own for each attempt: a failed one may be in half of its namespaces.
    fn make(&self, isolation: Isolation) -> Result<(Agent, Made), Failure> {
        let mut agent = Agent::start(self.executable, Some(self.lock), self.interrupt.clone())?;
        let made = agent.make(self.topology, self.receive_cpu, isolation)?;
        Ok((agent, made))
    }
}

fn resolved(isolation: Isolation, (agent, made): (Agent, Made)) -> Resolved {
    Resolved {
        isolation,
        agent,
        made,
        notes: Vec::new(),
    }
}

/// The agent's sentence, with the command that mends it where user namespaces are the cause.
fn explain(message: &str) -> String {
    let read = |path: &str| fs::read_to_string(path).ok();
    match message.strip_prefix(RESTRICTED) {
        Some(_) => format!("{RESTRICTED} ({}or run as root)", mend(read)),
        None => message.to_owned(),
    }
}

/// The setting that keeps ordinary users from making user namespaces, as a command that changes
/// it: AppArmor's (Ubuntu), Debian's, the kernel's own limit (namespaces(7)).
fn mend(read: impl Fn(&str) -> Option<String>) -> String {
    const SETTINGS: [(&str, &str, &str); 3] = [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("user/max_user_namespaces", "0", "15000"),
    ];
    SETTINGS
        .iter()
        .find(|(path, bad, _)| {
            read(&format!("/proc/sys/{path}")).is_some_and(|value| value.trim() == *bad)
        })
        .map(|(path, _, good)| format!("sudo sysctl -w {}={good}, ", path.replace('/', ".")))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_in_the_way_is_the_one_to_change() {
        let apparmor = |path: &str| {
            let restricts = path.ends_with("apparmor_restrict_unprivileged_userns");
            Some(if restricts { "1\n" } else { "7\n" }.to_owned())
        };
        assert_eq!(
            mend(apparmor),
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, "
        );
        let limit = |path: &str| {
            path.ends_with("max_user_namespaces")
                .then(|| "0\n".to_owned())
        };
        assert_eq!(
            mend(limit),
            "sudo sysctl -w user.max_user_namespaces=15000, "
        );
        assert_eq!(mend(|_| None), "");
    }

    #[test]
    fn other_causes_are_told_as_they_are() {
        assert_eq!(
            explain("cannot set lo up: EPERM"),
            "cannot set lo up: EPERM"
        );
    }
}
