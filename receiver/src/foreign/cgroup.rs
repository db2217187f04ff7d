//! A control group that sums the CPU time of a program and of all it starts, where this process may
//! make one (cgroups(7)).

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::unistd::Pid;

/// How our groups are called, before the process id and a number.
const PREFIX: &str = "wiretrial-group-";

/// A group of its own below ours; it is removed with this value, once nothing is in it.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
    version: Version,
}

/// The two designs of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// `cpuacct.usage`, ns.
    One,
    /// `usage_usec` in `cpu.stat`.
    Two,
}

impl Cgroup {
    /// A new empty group, or `None` where none can be made or none counts.
    pub(super) fn make() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        [Version::Two, Version::One]
            .into_iter()
            .find_map(|version| Self::make_below(&own_group(version, &mounts, &groups)?, version))
    }

    fn make_below(parent: &Path, version: Version) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        sweep(parent);
        let folder = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let group = Self { folder, version };
        (group.usage_ns().is_some() && group.door().is_some()).then_some(group)
    }

    /// Where a process that writes "0" puts itself into the group.
    pub(super) fn door(&self) -> Option<File> {
        let path = self.folder.join("cgroup.procs");
        OpenOptions::new().write(true).open(path).ok()
    }

    /// Whether a process is in the group.
    pub(super) fn holds(&self, pid: Pid) -> bool {
        let pid = pid.to_string();
        fs::read_to_string(self.folder.join("cgroup.procs"))
            .is_ok_and(|text| text.lines().any(|line| line == pid))
    }

    /// CPU time of everything that was ever in the group, ns.
    pub(super) fn usage_ns(&self) -> Option<u64> {
        let (file, prefix, unit) = match self.version {
            Version::One => ("cpuacct.usage", "", 1),
            Version::Two => ("cpu.stat", "usage_usec ", 1000),
        };
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        let value = text.lines().find_map(|line| line.strip_prefix(prefix))?;
        value.trim().parse::<u64>().ok()?.checked_mul(unit)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // What was killed leaves the group a moment later.
        for _ in 0..200 {
            if fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Removes groups of receivers that were killed. The kernel removes none with a process in it.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name
            .strip_prefix(PREFIX)
            .and_then(|name| name.split_once('-'));
        if owner.is_some_and(|(pid, _)| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The folder of this process's own group, by proc_pid_mountinfo(5) and `/proc/self/cgroup`.
fn own_group(version: Version, mounts: &str, groups: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let ours = match version {
            Version::One => controllers.split(',').any(|name| name == "cpuacct"),
            Version::Two => number == "0" && controllers.is_empty(),
        };
        ours.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let place: Vec<&str> = place.split(' ').collect();
        let kind: Vec<&str> = kind.split(' ').collect();
        let ours = match version {
            Version::One => {
                kind.first() == Some(&"cgroup")
                    && kind.get(2)?.split(',').any(|option| option == "cpuacct")
            }
            Version::Two => kind.first() == Some(&"cgroup2"),
        };
        let (root, mounted) = (place.get(3)?, place.get(4)?);
        let below = Path::new(path).strip_prefix(root).ok()?;
        ours.then(|| Path::new(mounted).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 /box /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn our_own_group_is_found_in_both_designs() {
        let groups = "9:name=systemd:/\n2:cpu,cpuacct:/user/7\n0::/box/of:ours\n";
        let one = own_group(Version::One, MOUNTS, groups).unwrap();
        assert_eq!(one, Path::new("/sys/fs/cgroup/cpuacct/user/7"));
        let two = own_group(Version::Two, MOUNTS, groups).unwrap();
        assert_eq!(two, Path::new("/sys/fs/cgroup/unified/of:ours"));
    }

    #[test]
    fn a_group_that_is_not_mounted_here_is_none() {
        assert_eq!(own_group(Version::Two, MOUNTS, "0::/elsewhere\n"), None);
        assert_eq!(own_group(Version::One, "", "2:cpuacct:/\n"), None);
        assert_eq!(own_group(Version::One, MOUNTS, "0::/box\n"), None);
    }

    #[test]
    fn groups_of_the_dead_are_removed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let living = format!("{PREFIX}{}-0", std::process::id());
        let dead = format!("{PREFIX}{}-3", 1 << 23);
        for name in [living.as_str(), dead.as_str(), "wiretrial-other-8388608-1"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        sweep(folder.path());
        assert!(folder.path().join(living).exists() && !folder.path().join(dead).exists());
        assert!(folder.path().join("wiretrial-other-8388608-1").exists());
    }

    #[test]
    fn usage_is_read_in_ns_and_a_folder_that_counts_nothing_is_no_group() {
        let folder = tempfile::tempdir().unwrap();
        for (version, file, text) in [
            (Version::One, "cpuacct.usage", "1234000\n"),
            (Version::Two, "cpu.stat", "usage_usec 1234\nuser_usec 9\n"),
        ] {
            fs::write(folder.path().join(file), text).unwrap();
            let group = Cgroup {
                folder: folder.path().to_owned(),
                version,
            };
            assert_eq!(group.usage_ns(), Some(1_234_000));
            std::mem::forget(group);
        }
        assert!(Cgroup::make_below(folder.path(), Version::Two).is_none());
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            2,
            "removed again"
        );
    }
}
