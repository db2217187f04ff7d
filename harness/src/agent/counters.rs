//! Reads the kernel's counters in this process's network namespace. A file that is missing is
//! missing in the result, never 0.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use wiretrial_contract::clock;
use wiretrial_contract::record::HostCounters;

use super::proof::Ran;
use super::sink::Sink;
use super::wire::Wire;

/// The counters now. `/proc/thread-self/net` and not `/proc/net`: the latter follows the main
/// thread.
///
/// # Errors
///
/// The sender's namespace cannot be entered.
pub(super) fn read(sinks: &[Sink], wire: Option<&Wire>) -> Result<HostCounters, String> {
    let proc = |name: &str| {
        fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default()
    };
    let mut udp = snmp(&proc("snmp"));
    udp.extend(snmp6(&proc("snmp6")));
    let sender_links = match wire {
        // This process's /sys shows the receiver's interfaces.
        Some(wire) => devices(&wire.sender().within(|| proc("dev"))?),
        None => BTreeMap::new(),
    };
    Ok(HostCounters {
        at_ns: clock::monotonic_ns(),
        links: links(Path::new("/sys/class/net")),
        softnet: softnet(&proc("softnet_stat")),
        udp,
        sink_dropped: sinks
            .iter()
            .map(Sink::dropped)
            .reduce(|sum, next| Some(sum? + next?))
            .flatten(),
        sender_links,
        receive_thread_ns: wire
            .and_then(|wire| wire.made().receive_thread)
            .and_then(Ran::read)
            .map(|ran| ran.on_cpu_ns),
    })
}

/// The table of /proc/net/dev with the names that /sys gives. Its other columns are sums of several
/// of those (net/core/net-procfs.c, `dev_seq_printf_stats`).
fn devices(text: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
    const COLUMNS: [(usize, &str); 7] = [
        (0, "rx_bytes"),
        (1, "rx_packets"),
        (2, "rx_errors"),
        (8, "tx_bytes"),
        (9, "tx_packets"),
        (10, "tx_errors"),
        (11, "tx_dropped"),
    ];
    text.lines()
        .filter_map(|line| {
            let (name, columns) = line.split_once(':')?;
            let columns: Vec<&str> = columns.split_ascii_whitespace().collect();
            let of =
                |(at, name): (usize, &str)| Some((name.to_owned(), columns.get(at)?.parse().ok()?));
            Some((
                name.trim().to_owned(),
                COLUMNS.into_iter().filter_map(of).collect(),
            ))
        })
        .collect()
}

fn links(class: &Path) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut links = BTreeMap::new();
    for link in fs::read_dir(class).into_iter().flatten().flatten() {
        let mut statistics = BTreeMap::new();
        let folder = link.path().join("statistics");
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            let value = fs::read_to_string(file.path()).ok();
            if let Some(value) = value.and_then(|text| text.trim().parse().ok()) {
                statistics.insert(file.file_name().to_string_lossy().into_owned(), value);
            }
        }
        if !statistics.is_empty() {
            links.insert(link.file_name().to_string_lossy().into_owned(), statistics);
        }
    }
    links
}

/// One line a CPU, columns in hexadecimal: processed, dropped, squeezed, and more that are not
/// read (net/core/net-procfs.c, `softnet_seq_show`).
fn softnet(text: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let columns = line.split_ascii_whitespace();
        for (name, column) in ["processed", "dropped", "squeezed"]
            .into_iter()
            .zip(columns)
        {
            if let Ok(value) = u64::from_str_radix(column, 16) {
                *sums.entry(name.to_owned()).or_insert(0) += value;
            }
        }
    }
    sums
}

/// The two `Udp:` lines, names and values, with the names nstat(8) gives: `UdpInErrors`.
fn snmp(text: &str) -> BTreeMap<String, u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return BTreeMap::new();
    };
    names
        .split_ascii_whitespace()
        .zip(values.split_ascii_whitespace())
        .filter_map(|(name, value)| Some((format!("Udp{name}"), value.parse().ok()?)))
        .collect()
}

/// The lines whose name starts with `Udp6`.
fn snmp6(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter(|line| line.starts_with("Udp6"))
        .filter_map(|line| {
            let (name, value) = line.split_once(char::is_whitespace)?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softnet_is_summed_over_cpus() {
        let sums = softnet("0000000a 00000001 00000002 0 0\n00000010 00000000 ffffffff 0 0\n");
        assert_eq!(sums["processed"], 26);
        assert_eq!(sums["dropped"], 1);
        assert_eq!(sums["squeezed"], 4_294_967_297);
        assert!(softnet("").is_empty());
    }

    #[test]
    fn udp_counters_have_the_names_of_nstat() {
        let udp =
            snmp("Tcp: A\nTcp: 1\nUdp: InDatagrams InErrors\nUdp: 7 2\nUdpLite: A\nUdpLite: 9\n");
        assert_eq!(udp.len(), 2);
        assert_eq!(udp["UdpInErrors"], 2);
        let udp6 = snmp6("Ip6InReceives  3\nUdp6InErrors   \t4\nUdpLite6InErrors 5\n");
        assert_eq!(
            udp6.into_iter().collect::<Vec<_>>(),
            [("Udp6InErrors".to_owned(), 4)]
        );
    }

    #[test]
    fn a_link_has_the_statistics_of_its_folder() {
        let class = tempfile::tempdir().unwrap();
        let folder = class.path().join("eth0/statistics");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("rx_packets"), "12\n").unwrap();
        fs::create_dir(class.path().join("bonding_masters")).unwrap();
        let links = links(class.path());
        assert_eq!(links["eth0"]["rx_packets"], 12);
        assert_eq!(links.len(), 1);
    }

    #[test]
    fn without_a_sink_its_drops_are_unknown() {
        assert_eq!(read(&[], None).unwrap().sink_dropped, None);
    }

    #[test]
    fn devices_have_the_names_of_their_statistics() {
        let devices = devices(
            "Inter-|   Receive                            |  Transmit\n \
             face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop \
             fifo colls carrier compressed\n    \
             lo:       0       0    0    0    0     0          0         0        0       0    0    \
             0    0     0       0          0\n  \
             wts0:   11200     200    1    2    3     0          0         0     1296      12    4    \
             5    6     0       0          0\n",
        );
        assert_eq!(devices.keys().collect::<Vec<_>>(), ["lo", "wts0"]);
        let wts0 = &devices["wts0"];
        assert_eq!((wts0["rx_packets"], wts0["tx_packets"]), (200, 12));
        assert_eq!((wts0["tx_errors"], wts0["tx_dropped"]), (4, 5));
        assert_eq!(wts0.get("rx_dropped"), None);
    }
}
