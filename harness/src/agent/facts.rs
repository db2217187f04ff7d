//! Facts of the host, read before any namespace is made: a network namespace hides many of the
//! settings.

use std::collections::BTreeMap;
use std::fs;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use wiretrial_contract::record::HostFacts;

use super::kernel::Config;
use super::ticks;

/// Settings that change what a capture on this host can do, by dotted name (sysctl(8)).
const SYSCTLS: [&str; 13] = [
    "kernel.perf_event_paranoid",
    "kernel.randomize_va_space",
    "kernel.sched_rt_runtime_us",
    "net.core.bpf_jit_enable",
    "net.core.busy_poll",
    "net.core.dev_weight",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
];

/// The facts of this host. It keeps one CPU busy for a tenth of a second.
pub(super) fn read() -> HostFacts {
    let cpu_info = text("/proc/cpuinfo").unwrap_or_default();
    let cpus_allowed = allowed_cpus(Pid::from_raw(0));
    let config = Config::read();
    // Where the receivers will be.
    let ticks = cpus_allowed
        .last()
        .map(|cpu| ticks::test(*cpu, config.as_ref()))
        .unwrap_or_default();
    HostFacts {
        cpu_model: cpu_field(&cpu_info, "model name").or_else(|| cpu_field(&cpu_info, "CPU part")),
        cpus_online: text("/sys/devices/system/cpu/online").and_then(|list| count(&list)),
        cpus_allowed,
        smt: text("/sys/devices/system/cpu/smt/active").map(|active| active == "1"),
        governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        virtualisation: virtualisation(&cpu_info),
        kernel: text("/proc/sys/kernel/osrelease"),
        memory_bytes: text("/proc/meminfo").and_then(|info| memory_bytes(&info)),
        clock_source: text(&format!("{CLOCK_SOURCES}/current_clocksource")),
        hz: ticks.hz,
        cpu_accounting: ticks.accounting,
        irq_time_apart: config.map(|config| config.has("CONFIG_IRQ_TIME_ACCOUNTING")),
        sysctls: sysctls(),
        boot_id: text("/proc/sys/kernel/random/boot_id"),
        host_name: nix::unistd::gethostname()
            .ok()
            .and_then(|name| name.into_string().ok()),
    }
}

/// CPUs a process may run on, ascending; empty when that cannot be told.
pub(crate) fn allowed_cpus(pid: Pid) -> Vec<u32> {
    let Ok(set) = sched_getaffinity(pid) else {
        return Vec::new();
    };
    (0..CpuSet::count())
        .filter(|cpu| set.is_set(*cpu) == Ok(true))
        .filter_map(|cpu| u32::try_from(cpu).ok())
        .collect()
}

const CLOCK_SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";

fn sysctls() -> BTreeMap<String, Option<String>> {
    SYSCTLS
        .iter()
        .map(|name| {
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            ((*name).to_owned(), text(&path))
        })
        .collect()
}

/// `none` only where the CPU could say that it is virtual and does not; a hypervisor without a
/// known sign is `vm`.
fn virtualisation(cpu_info: &str) -> Option<String> {
    let signs = [
        "/sys/hypervisor/type",
        "/sys/class/dmi/id/sys_vendor",
        "/sys/class/dmi/id/product_name",
        "/sys/class/dmi/id/bios_vendor",
        "/proc/device-tree/hypervisor/compatible",
        &format!("{CLOCK_SOURCES}/available_clocksource"),
    ]
    .map(|path| text(path).unwrap_or_default())
    .join("\n");
    let flags = cpu_field(cpu_info, "flags")?;
    if !flags.split(' ').any(|flag| flag == "hypervisor") {
        return Some("none".into());
    }
    Some(hypervisor(&signs).into())
}

/// Names as in systemd-detect-virt(1).
fn hypervisor(signs: &str) -> &'static str {
    const SIGNS: [(&str, &str); 11] = [
        ("vmware", "vmware"),
        ("virtualbox", "oracle"),
        ("innotek", "oracle"),
        ("microsoft", "microsoft"),
        ("hyperv", "microsoft"),
        ("xen", "xen"),
        ("kvm", "kvm"),
        ("amazon ec2", "kvm"),
        ("google", "kvm"),
        ("qemu", "qemu"),
        ("bochs", "bochs"),
    ];
    let signs = signs.to_lowercase();
    SIGNS
        .iter()
        .find(|(sign, _)| signs.contains(sign))
        .map_or("vm", |(_, name)| name)
}

fn cpu_field(cpu_info: &str, name: &str) -> Option<String> {
    cpu_info.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

fn memory_bytes(info: &str) -> Option<u64> {
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// How many numbers a list such as `0-3,8` names.
fn count(list: &str) -> Option<u32> {
    list.split(',').try_fold(0_u32, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn text(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-3,8"), Some(5));
        assert_eq!(count("3-0"), None);
        assert_eq!(count("x"), None);
    }

    #[test]
    fn fields_of_proc_files() {
        let cpu = "processor\t: 0\nmodel name\t: AMD EPYC 7B13\nflags\t\t: fpu hypervisor\n";
        assert_eq!(
            cpu_field(cpu, "model name").as_deref(),
            Some("AMD EPYC 7B13")
        );
        assert_eq!(cpu_field(cpu, "governor"), None);
        assert_eq!(memory_bytes("MemTotal:   16 kB\n"), Some(16_384));
        assert_eq!(memory_bytes("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn hypervisors_by_their_signs() {
        assert_eq!(hypervisor("tsc hpet\nkvm-clock tsc"), "kvm");
        assert_eq!(hypervisor("VMware, Inc."), "vmware");
        assert_eq!(hypervisor("QEMU"), "qemu");
        assert_eq!(hypervisor("tsc"), "vm");
        assert_eq!(virtualisation("flags : fpu\n").as_deref(), Some("none"));
        assert_eq!(virtualisation("Features : fp asimd\n"), None);
    }

    #[test]
    fn this_hosts_facts_agree_with_its_files() {
        let facts = read();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(facts.kernel.as_deref(), Some(release.trim()));
        assert!(!facts.cpus_allowed.is_empty());
        assert!(facts.cpus_allowed.is_sorted());
        assert_eq!(facts.sysctls.len(), SYSCTLS.len());
    }
}
