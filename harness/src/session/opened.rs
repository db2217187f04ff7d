//! The host of a session, opened.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use wiretrial_contract::clock;
use wiretrial_contract::digest::sha256;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::{Campaign, Placement, Workload};
use wiretrial_contract::record::HostFacts;

use super::Options;
use crate::evidence::environment::{self, Environment, HOST};
use crate::evidence::folder::Folder;
use crate::evidence::privacy;
use crate::executables::Found;
use crate::host::{IsolationChoice, LocalHost, Setting as HostSetting, choose_placement, class};

/// The host, opened, with everything that is the same for a new and a resumed campaign.
pub(super) struct Opened {
    pub(super) host: LocalHost,
    pub(super) found: Found,
    pub(super) libpcap: Option<String>,
    pub(super) class: class::HostClass,
}

impl Opened {
    pub(super) fn open(
        campaign: &Campaign,
        found: Found,
        options: &Options,
    ) -> Result<Self, Failure> {
        let mut host = LocalHost::open(&HostSetting {
            executable: Path::new("/proc/self/exe"),
            receivers: &match campaign.workload() {
                Workload::Live => found.receivers(),
                // Nothing is captured.
                Workload::File | Workload::Command => Vec::new(),
            },
            isolation: isolation(campaign, options.isolation),
            topology: campaign.topology.kind,
            receive_cpu: campaign.topology.receive_cpu,
            interrupt: options.interrupt.clone(),
            lock: options.lock.clone(),
            say: options.say,
        })?;
        let libpcap = host.libpcap_of(&found.receiver)?;
        let nic = host.nic();
        let class = class::of(
            host.facts(),
            libpcap.as_deref(),
            host.isolation(),
            nic.as_ref(),
        );
        Ok(Self {
            host,
            found,
            libpcap,
            class,
        })
    }

    /// Pins the harness and the agent to the senders' CPUs. Where that fails nothing is pinned.
    pub(super) fn place(&mut self, campaign: &Campaign) -> Placement {
        let senders = campaign
            .cases
            .iter()
            .filter_map(|case| Some(case.live()?.traffic.senders))
            .max()
            .unwrap_or(1);
        let placement = choose_placement(&self.host.facts().cpus_allowed, senders);
        let placement = if placement.receiver.is_some() && self.host.pin(&placement) {
            placement
        } else {
            Placement::default()
        };
        self.host.steered(placement)
    }

    pub(super) fn check_ports(&self, campaign: &Campaign) -> Result<(), Failure> {
        if campaign.workload() != Workload::Live {
            return Ok(());
        }
        let targets: Vec<SocketAddr> = (0..=campaign.arms.len())
            .map(|arm| campaign.topology.target(arm))
            .collect();
        self.host.check_ports(&targets)
    }

    /// The agent holds the control port for the whole session.
    pub(super) fn hold_control_port(&mut self, campaign: &Campaign) -> Result<(), Failure> {
        if campaign.workload() != Workload::Live {
            return Ok(());
        }
        self.host
            .agent()
            .sink(campaign.topology.target(campaign.arms.len()))
    }

    /// SHA-256 of the boot id.
    pub(super) fn boot(&self) -> Option<String> {
        let id = self.host.facts().boot_id.as_ref();
        id.map(|id| sha256(id.as_bytes()))
    }

    pub(super) fn note_session(
        &self,
        folder: &Folder,
        environment: &mut Environment,
        rows_before: u64,
        torn_bytes: Option<u64>,
    ) -> Result<(), Failure> {
        privacy::keep(folder, environment.sessions.len())?;
        let facts = HostFacts {
            host_name: None,
            boot_id: None,
            ..self.host.facts().clone()
        };
        environment.sessions.push(environment::Session {
            began: clock::rfc3339(clock::realtime_ns()),
            rows_before,
            torn_bytes,
            boot: self.boot(),
            isolation: self.host.isolation(),
            notes: self.host.notes().to_vec(),
            hosts: BTreeMap::from([(HOST.to_owned(), facts)]),
            classes: BTreeMap::from([(
                HOST.to_owned(),
                (self.class.sha256.clone(), self.class.words.clone()),
            )]),
            libpcap: self.libpcap.clone(),
        });
        environment.write(folder)
    }
}

/// Where a campaign's trials run when nobody said: command lines in the user's own surroundings, all
/// else apart from the host.
fn isolation(campaign: &Campaign, choice: IsolationChoice) -> IsolationChoice {
    match (campaign.workload(), choice) {
        (Workload::Command, IsolationChoice::Auto) => IsolationChoice::None,
        _ => choice,
    }
}
