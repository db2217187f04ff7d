//! What this host and user are called.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use nix::ifaddrs::getifaddrs;
use nix::unistd::{Uid, User, gethostname};

use super::Kind;
use crate::cache;

/// Names that say nothing of anybody: those that systems, images and CI runners come with.
pub(super) const PUBLIC: [&str; 14] = [
    "root",
    "localhost",
    "user",
    "nobody",
    "guest",
    "admin",
    "test",
    "runner",
    "builder",
    "vagrant",
    "docker",
    "ubuntu",
    "debian",
    "fedora",
];
/// Where the kernel has interfaces, with their hardware addresses.
const INTERFACES: &str = "/sys/class/net";
/// Where the kernel has the id of this boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// How the ends of Wiretrial's own wires begin.
const OWN: [&str; 2] = ["wtr", "wts"];

/// All that is known to be private of this host, this user and the evidence in `folder`.
pub(super) fn strings(folder: &Path) -> Vec<(String, Kind)> {
    let mut all = names();
    all.extend(paths(folder));
    all.extend(hardware_addresses());
    all.extend(addresses());
    all.extend(fs::read_to_string(BOOT).map(|id| (id.trim().to_owned(), Kind::Boot)));
    all
}

fn names() -> Vec<(String, Kind)> {
    let mut all = Vec::new();
    if let Some(long) = gethostname().ok().and_then(|name| name.into_string().ok()) {
        if let Some((short, _)) = long.split_once('.') {
            all.push((short.to_owned(), Kind::Host));
        }
        all.push((long, Kind::Host));
    }
    let user = User::from_uid(Uid::current()).ok().flatten();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    for home in home
        .into_iter()
        .chain(user.as_ref().map(|user| user.dir.clone()))
    {
        all.extend(absolute(&home, 1).map(|home| (home, Kind::Home)));
    }
    let said = std::env::var("USER").ok();
    all.extend(user.map(|user| (user.name, Kind::User)));
    all.extend(said.map(|name| (name, Kind::User)));
    all
}

fn paths(folder: &Path) -> Vec<(String, Kind)> {
    let here = std::env::current_dir().ok();
    // Where the cache would be, without making it.
    let cache = cache::users();
    [Some(folder.to_owned()), here, cache]
        .into_iter()
        .flatten()
        // A single name such as /tmp is the same on every host.
        .filter_map(|path| absolute(&path, 2))
        .map(|path| (path, Kind::Path))
        .collect()
}

/// An absolute path of at least so many names.
fn absolute(path: &Path, least: usize) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let names = path.components().count().checked_sub(1)?;
    let text = path.to_str()?.trim_end_matches('/');
    (names >= least).then(|| text.to_owned())
}

fn hardware_addresses() -> Vec<(String, Kind)> {
    let interfaces = fs::read_dir(INTERFACES).into_iter().flatten().flatten();
    interfaces
        .filter(|interface| !own(&interface.file_name().to_string_lossy()))
        .filter_map(|interface| fs::read_to_string(interface.path().join("address")).ok())
        .map(|address| address.trim().to_owned())
        // Loopback, and devices that have none.
        .filter(|address| address.bytes().any(|byte| !matches!(byte, b'0' | b':')))
        .flat_map(|address| {
            let forms = [
                address.clone(),
                address.replace(':', "-"),
                address.replace(':', ""),
            ];
            forms.map(|address| (address, Kind::Mac))
        })
        .collect()
}

fn addresses() -> Vec<(String, Kind)> {
    let Ok(interfaces) = getifaddrs() else {
        return Vec::new();
    };
    interfaces
        .filter(|interface| !own(&interface.interface_name))
        // The broadcast address is the network's.
        .flat_map(|interface| [interface.address, interface.broadcast])
        .flatten()
        .filter_map(|address| {
            let v4 = || Some(IpAddr::V4(address.as_sockaddr_in()?.ip()));
            let v6 = || Some(IpAddr::V6(address.as_sockaddr_in6()?.ip()));
            v4().or_else(v6)
        })
        .filter(|address| !address.is_loopback() && !address.is_unspecified())
        .map(|address| address.to_string())
        .map(|address| (address, Kind::Address))
        .collect()
}

/// Whether an interface is one that Wiretrial made, whose addresses are the same everywhere.
fn own(interface: &str) -> bool {
    interface == "lo" || OWN.iter().any(|own| interface.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_paths_are_the_same_everywhere() {
        assert_eq!(absolute(Path::new("/"), 1), None);
        assert_eq!(absolute(Path::new("/tmp"), 2), None);
        assert_eq!(absolute(Path::new("/root/"), 1).as_deref(), Some("/root"));
        assert_eq!(absolute(Path::new("/a/b/"), 2).as_deref(), Some("/a/b"));
    }

    #[test]
    fn this_host_has_strings_of_its_own() {
        let all = strings(Path::new("/somewhere/else"));
        assert!(all.contains(&("/somewhere/else".into(), Kind::Path)));
        assert!(all.iter().any(|(_, kind)| *kind == Kind::Boot));
        assert!(!all.iter().any(|(text, _)| text.starts_with("127.")));
    }
}
