//! The host class: hosts of one class can be expected to give comparable numbers.

use serde::Serialize;

use wiretrial_contract::control::Isolation;
use wiretrial_contract::digest;
use wiretrial_contract::record::{CpuAccounting, HostFacts};

/// The NIC of a topology that has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Nic {
    /// Name of its driver.
    pub driver: Option<String>,
    /// Speed, Mbit/s.
    pub speed_mbps: Option<u32>,
}

/// A host class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostClass {
    /// SHA-256 over everything that makes the class, 64 hexadecimal digits.
    pub sha256: String,
    /// The same in words: `EPYC 7B13, 2 CPUs, kvm, 6.18, sandbox`.
    pub words: String,
}

impl HostClass {
    /// Its first four digits, which is how it is printed.
    #[must_use]
    pub fn digits(&self) -> &str {
        &self.sha256[..4]
    }
}

/// The class of a host. `libpcap` is the version as libpcap says it; `nic` is `None` on loopback.
/// Unknown facts are part of the class as unknown.
///
/// # Panics
///
/// Never: a structure of texts and numbers can be serialised.
#[must_use]
pub fn of(
    facts: &HostFacts,
    libpcap: Option<&str>,
    isolation: Isolation,
    nic: Option<&Nic>,
) -> HostClass {
    #[derive(Serialize)]
    struct Class<'a> {
        cpu_model: Option<&'a str>,
        cpus_online: Option<u32>,
        smt: Option<bool>,
        governor: Option<&'a str>,
        virtualisation: Option<&'a str>,
        kernel: Option<&'a str>,
        hz: Option<u32>,
        cpu_accounting: Option<CpuAccounting>,
        irq_time_apart: Option<bool>,
        libpcap: Option<&'a str>,
        nic: Option<&'a Nic>,
        isolation: Isolation,
    }
    let kernel = facts.kernel.as_deref().and_then(major_minor);
    let class = Class {
        cpu_model: facts.cpu_model.as_deref(),
        cpus_online: facts.cpus_online,
        smt: facts.smt,
        governor: facts.governor.as_deref(),
        virtualisation: facts.virtualisation.as_deref(),
        kernel,
        hz: facts.hz,
        cpu_accounting: facts.cpu_accounting,
        irq_time_apart: facts.irq_time_apart,
        libpcap,
        nic,
        isolation,
    };
    let bytes = serde_json::to_vec(&class).expect("texts and numbers can be serialised");
    let model = facts.cpu_model.as_deref().map(short_model);
    let cpus = facts.cpus_online.map_or("? CPUs".into(), |cpus| {
        format!("{cpus} CPU{}", if cpus == 1 { "" } else { "s" })
    });
    let words = [
        model.as_deref().unwrap_or("unknown CPU"),
        &cpus,
        facts.virtualisation.as_deref().unwrap_or("unknown host"),
        kernel.unwrap_or("unknown kernel"),
        isolation.name(),
    ];
    HostClass {
        sha256: digest::sha256(&bytes),
        words: words.join(", "),
    }
}

fn major_minor(release: &str) -> Option<&str> {
    let dot = release.find('.')?;
    let rest = &release[dot + 1..];
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    (dot > 0 && digits > 0).then(|| &release[..=dot + digits])
}

/// A CPU model without maker, marks and filling: `AMD EPYC 7B13 64-Core Processor` is
/// `EPYC 7B13`.
fn short_model(model: &str) -> String {
    const FILLING: [&str; 7] = ["AMD", "Intel", "CPU", "Processor", "@", "with", "Radeon"];
    let plain = model
        .replace("(R)", "")
        .replace("(TM)", "")
        .replace("(tm)", "");
    let words: Vec<&str> = plain
        .split_ascii_whitespace()
        .filter(|word| !FILLING.contains(word) && !word.ends_with("-Core"))
        .collect();
    if words.is_empty() {
        return model.to_owned();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> HostFacts {
        HostFacts {
            cpu_model: Some("AMD EPYC 7B13 64-Core Processor".into()),
            cpus_online: Some(2),
            virtualisation: Some("kvm".into()),
            kernel: Some("6.18.44-generic".into()),
            hz: Some(250),
            cpu_accounting: Some(CpuAccounting::Tick),
            irq_time_apart: Some(false),
            ..HostFacts::default()
        }
    }

    fn class(facts: &HostFacts) -> HostClass {
        of(
            facts,
            Some("libpcap version 1.10.3"),
            Isolation::Sandbox,
            None,
        )
    }

    #[test]
    fn words() {
        assert_eq!(
            class(&facts()).words,
            "EPYC 7B13, 2 CPUs, kvm, 6.18, sandbox"
        );
        let unknown = class(&HostFacts::default()).words;
        assert_eq!(
            unknown,
            "unknown CPU, ? CPUs, unknown host, unknown kernel, sandbox"
        );
        assert_eq!(
            short_model("Intel(R) Xeon(R) CPU @ 2.20GHz"),
            "Xeon 2.20GHz"
        );
        assert_eq!(short_model("CPU"), "CPU");
    }

    #[test]
    fn only_what_matters_changes_the_class() {
        let base = class(&facts());
        assert_eq!(base.digits(), &base.sha256[..4]);
        let patch = HostFacts {
            kernel: Some("6.18.45".into()),
            host_name: Some("other".into()),
            memory_bytes: Some(1),
            ..facts()
        };
        assert_eq!(class(&patch), base);
        let kernel = HostFacts {
            kernel: Some("6.19.1".into()),
            ..facts()
        };
        assert_ne!(class(&kernel).sha256, base.sha256);
        let smt = HostFacts {
            smt: Some(false),
            ..facts()
        };
        assert_ne!(class(&smt).sha256, base.sha256);
        for hz in [None, Some(1000)] {
            let other = HostFacts { hz, ..facts() };
            assert_ne!(class(&other).sha256, base.sha256);
        }
        for cpu_accounting in [None, Some(CpuAccounting::Precise)] {
            let other = HostFacts {
                cpu_accounting,
                ..facts()
            };
            assert_ne!(class(&other).sha256, base.sha256);
        }
        for irq_time_apart in [None, Some(true)] {
            let other = HostFacts {
                irq_time_apart,
                ..facts()
            };
            assert_ne!(class(&other).sha256, base.sha256);
        }
        let other = of(
            &facts(),
            Some("libpcap version 1.10.5"),
            Isolation::Sandbox,
            None,
        );
        assert_ne!(other.sha256, base.sha256);
        let nic = Nic {
            driver: Some("ixgbe".into()),
            speed_mbps: Some(10_000),
        };
        let other = of(
            &facts(),
            Some("libpcap version 1.10.3"),
            Isolation::Sandbox,
            Some(&nic),
        );
        assert_ne!(other.sha256, base.sha256);
    }

    #[test]
    fn kernel_releases() {
        assert_eq!(major_minor("6.18.44-fc"), Some("6.18"));
        assert_eq!(major_minor("5.4"), Some("5.4"));
        assert_eq!(major_minor("6.x"), None);
        assert_eq!(major_minor("six"), None);
    }
}
