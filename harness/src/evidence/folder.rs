//! The folder of one campaign: `<root>/<campaign>/<UTC time>-<plan, 8 digits>/`, never overwritten.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use wiretrial_contract::clock;
use wiretrial_contract::digest::{sha256, sha256_read};
use wiretrial_contract::failure::Failure;
use wiretrial_contract::plan::Plan;

use super::{environment, regular};
use crate::root::{self, ROOT};

/// The sealed plan.
pub const PLAN: &str = "plan.json";
/// What is derived from the rows.
pub const ANALYSIS: &str = "analysis.json";
/// Hashes of all files, written last.
pub const SUMS: &str = "SHA256SUMS";
/// Real names of hosts, users and paths; outside the hashes, never packed.
pub const PRIVATE: &str = "private.json";
/// What children said on standard error, build logs, torn bytes.
pub const RAW: &str = "raw";
/// The rehearsal, with its own plan and rows.
pub const REHEARSAL: &str = "rehearsal";
/// The pilot, with its own plan and rows.
pub const PILOT: &str = "pilot";
/// Where the logs of a campaign, of its rehearsal and of its pilot are.
pub const LOGS: [&str; 3] = [RAW, "rehearsal/raw", "pilot/raw"];
const LATEST: &str = "latest";
/// What a file's name ends with until it is whole.
const PART: &str = ".part";
/// What a campaign may hold before its plan is sealed.
const BEFORE_THE_PLAN: [&str; 5] = [RAW, REHEARSAL, PILOT, PRIVATE, environment::FILE];

/// Whether a file of the folder, by its name there, is a log.
#[must_use]
pub fn is_log(name: &str) -> bool {
    let below = |logs: &str| name.strip_prefix(logs)?.strip_prefix('/');
    LOGS.iter().any(|logs| below(logs).is_some())
}

/// An evidence folder on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    /// The topmost folder that was made for it.
    made: Option<PathBuf>,
}

impl Folder {
    /// Makes the folder of a campaign, with `raw/` and `rehearsal/raw/`.
    ///
    /// # Errors
    ///
    /// It exists (exit 2), or cannot be made (exit 3).
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let path = &root::relative(path);
        refuse_existing(path)?;
        let cannot = |error: io::Error| {
            Failure::host(format!(
                "cannot make {}: {error}; --out a folder that can be written",
                path.display()
            ))
        };
        if path.starts_with(ROOT) {
            root::make(Path::new(ROOT)).map_err(cannot)?;
        }
        if died_unsealed(path) {
            fs::remove_dir_all(path).map_err(cannot)?;
        }
        let missing = path
            .ancestors()
            .take_while(|part| !part.as_os_str().is_empty() && !part.exists());
        let folder = Self {
            path: path.to_owned(),
            made: missing.last().map(Path::to_owned),
        };
        fs::create_dir_all(folder.path.join(RAW))
            .and_then(|()| fs::create_dir_all(folder.path.join(REHEARSAL).join(RAW)))
            .map_err(cannot)?;
        Ok(folder)
    }

    /// Gives the folder its name, which holds digits of the plan, once that is sealed.
    ///
    /// # Errors
    ///
    /// There is one (exit 2), or it cannot be renamed (exit 4).
    pub fn rename(&mut self, path: &Path) -> Result<(), Failure> {
        if path == self.path {
            return Ok(());
        }
        refuse_existing(path)?;
        fs::rename(&self.path, path).map_err(|error| not_written(path, &error))?;
        if self.made.as_ref() == Some(&self.path) {
            self.made = Some(path.to_owned());
        }
        path.clone_into(&mut self.path);
        Ok(())
    }

    /// An existing folder.
    ///
    /// # Errors
    ///
    /// It holds no plan (exit 2).
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if died_unsealed(path) {
            return Err(Failure::usage(format!(
                "{0} ended in rehearsal or pilot, before its plan was sealed, and nothing of it \
                 counts; start it again, with --out {0}",
                path.display()
            )));
        }
        if !path.join(PLAN).is_file() {
            return Err(Failure::usage(format!(
                "{} is no evidence folder: it has no {PLAN}",
                path.display()
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            made: None,
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file whole: under another name first, then renamed, so that a reader never sees
    /// half of it.
    ///
    /// # Errors
    ///
    /// The disk is full or the folder cannot be written (exit 4).
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path.join(name);
        let part = self.path.join(format!("{name}{PART}"));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| not_written(&path, &error))?;
        }
        let result = fs::File::create(&part).and_then(|mut file| {
            io::Write::write_all(&mut file, bytes)?;
            file.sync_all()?;
            fs::rename(&part, &path)
        });
        result.map_err(|error| {
            // Whatever was written of it is of no use.
            let _ = fs::remove_file(&part);
            not_written(&path, &error)
        })
    }

    /// Removes what a crash left half written under another name.
    ///
    /// # Errors
    ///
    /// A folder cannot be read, or a file not removed (exit 4).
    pub fn drop_parts(&self) -> Result<(), Failure> {
        let parts = self.files()?;
        for name in parts.iter().filter(|name| name.ends_with(PART)) {
            let path = self.path.join(name);
            fs::remove_file(&path).map_err(|error| {
                Failure::evidence(format!("{} could not be removed: {error}", path.display()))
            })?;
        }
        Ok(())
    }

    /// Takes the hashes away, so that it is not finished any more.
    ///
    /// # Errors
    ///
    /// They cannot be removed (exit 4).
    pub fn drop_sums(&self) -> Result<(), Failure> {
        let path = self.path.join(SUMS);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::evidence(
                format!("{} could not be removed: {error}", path.display()),
            )),
            _ => Ok(()),
        }
    }

    /// Makes a folder inside it, if it is not there.
    ///
    /// # Errors
    ///
    /// It cannot be made (exit 4).
    pub fn make(&self, name: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).map_err(|error| not_written(&path, &error))
    }

    /// Moves the files of another folder to `name` in this one, and removes that folder.
    ///
    /// # Errors
    ///
    /// One cannot be read, or written here (exit 4).
    pub fn adopt(&self, from: &Path, name: &str) -> Result<(), Failure> {
        let cannot = |error| Failure::evidence(format!("{}: {error}", from.display()));
        for entry in fs::read_dir(from).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let bytes = fs::read(entry.path()).map_err(cannot)?;
            self.write(
                &format!("{name}/{}", entry.file_name().to_string_lossy()),
                &bytes,
            )?;
        }
        discard_logs(from);
        Ok(())
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// It cannot be read (exit 4), or is no regular file (exit 5).
    pub fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let path = self.path.join(name);
        let mut bytes = Vec::new();
        regular::open(&path)?
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::evidence(format!("{}: {error}", path.display())))?;
        Ok(bytes)
    }

    /// SHA-256 of a file, read in pieces.
    ///
    /// # Errors
    ///
    /// As [`Folder::read`].
    pub fn sha256(&self, name: &str) -> Result<String, Failure> {
        let path = self.path.join(name);
        sha256_read(regular::open(&path)?)
            .map_err(|error| Failure::evidence(format!("{}: {error}", path.display())))
    }

    /// The plan and the hash of its bytes.
    ///
    /// # Errors
    ///
    /// It cannot be read (exit 4) or is not a plan of a version this build reads (exit 5).
    pub fn plan(&self) -> Result<(Plan, String), Failure> {
        let bytes = self.read(PLAN)?;
        let shown = self.path.join(PLAN).display().to_string();
        super::json::schema(&shown, &bytes, wiretrial_contract::plan::PLAN_SCHEMA)?;
        let plan: Plan = serde_json::from_slice(&bytes)
            .map_err(|error| Failure::mismatch(format!("{shown}: {error}")))?;
        Ok((plan, sha256(&bytes)))
    }

    /// Writes the hashes of all files but the private one and itself, sorted by name.
    ///
    /// # Errors
    ///
    /// As [`Folder::write`].
    pub fn write_sums(&self) -> Result<(), Failure> {
        let mut lines = String::new();
        for name in self.files()? {
            let hash = self.sha256(&name)?;
            lines.push_str(&format!("{hash}  {name}\n"));
        }
        self.write(SUMS, lines.as_bytes())
    }

    /// Names of all files that are hashed, relative to the folder, sorted.
    ///
    /// # Errors
    ///
    /// A folder cannot be read (exit 4).
    pub fn files(&self) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        collect(&self.path, "", &mut names)
            .map_err(|error| Failure::evidence(format!("{}: {error}", self.path.display())))?;
        names.retain(|name| name != SUMS && name != PRIVATE);
        names.sort();
        Ok(names)
    }

    /// Removes all that [`Folder::create`] made: a campaign that was not sealed leaves nothing.
    pub fn discard(self) {
        if let Some(made) = self.made {
            // What cannot be removed is at least not taken for evidence, since it has no plan.
            let _ = fs::remove_dir_all(made);
        }
        root::leave(Path::new(ROOT));
    }
}

/// Removes a folder of logs below the evidence root, and what is empty above it.
pub fn discard_logs(logs: &Path) {
    // What cannot be removed does no harm.
    let _ = fs::remove_dir_all(logs);
    let above = logs
        .ancestors()
        .skip(1)
        .take_while(|folder| *folder != Path::new(ROOT));
    for folder in above {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    root::leave(Path::new(ROOT));
}

/// Refuses to start a campaign in a folder that is there.
///
/// # Errors
///
/// It exists (exit 2).
pub fn refuse_existing(path: &Path) -> Result<(), Failure> {
    if !path.exists() || died_unsealed(path) {
        return Ok(());
    }
    if !path.join(PLAN).is_file() {
        return Err(Failure::usage(format!(
            "{} exists and is no sealed campaign; --out another folder",
            path.display()
        )));
    }
    Err(Failure::usage(format!(
        "{0} exists; nothing is overwritten. --out another folder, or wiretrial run --resume {0}",
        path.display()
    )))
}

/// Whether a folder is that of a campaign which was killed before its plan was sealed: there is nothing
/// in it but what comes before the plan.
fn died_unsealed(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else {
        return false;
    };
    let names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let known = |name: &String| {
        let whole = name.strip_suffix(PART).unwrap_or(name);
        BEFORE_THE_PLAN.contains(&whole) || name.strip_suffix(PART) == Some(PLAN)
    };
    names.contains(&REHEARSAL.to_owned()) && names.iter().all(known)
}

/// Where a new campaign's evidence goes without `--out`.
#[must_use]
pub fn default_path(root: &Path, campaign: &str, realtime_ns: u64, plan_sha256: &str) -> PathBuf {
    let name = format!("{}-{}", clock::folder_time(realtime_ns), &plan_sha256[..8]);
    root.join(campaign).join(name)
}

/// Where it goes until its plan is sealed.
#[must_use]
pub fn unsealed_path(root: &Path, campaign: &str, realtime_ns: u64) -> PathBuf {
    let name = format!("{}-unsealed", clock::folder_time(realtime_ns));
    root.join(campaign).join(name)
}

/// Points `<root>/latest` to a folder below `root`; nothing happens for one elsewhere.
///
/// # Errors
///
/// The link cannot be made (exit 4).
pub fn link_latest(root: &Path, folder: &Folder) -> Result<(), Failure> {
    let Ok(target) = folder.path.strip_prefix(root) else {
        return Ok(());
    };
    let link = root.join(LATEST);
    let part = root.join(format!("{LATEST}.part"));
    let _ = fs::remove_file(&part);
    std::os::unix::fs::symlink(target, &part)
        .and_then(|()| fs::rename(&part, &link))
        .map_err(|error| {
            let _ = fs::remove_file(&part);
            not_written(&link, &error)
        })
}

/// What a link such as `evidence/latest` points to, else the path itself: evidence is named by where
/// it lies.
#[must_use]
pub fn resolved(path: &Path) -> PathBuf {
    match (fs::read_link(path), path.parent()) {
        (Ok(target), Some(parent)) => parent.join(target),
        _ => path.to_owned(),
    }
}

/// The newest evidence under `root`.
///
/// # Errors
///
/// There is none (exit 2).
pub fn latest(root: &Path) -> Result<PathBuf, Failure> {
    let link = root.join(LATEST);
    match fs::read_link(&link) {
        Ok(target) if root.join(&target).join(PLAN).is_file() => Ok(root.join(target)),
        _ => Err(Failure::usage(format!(
            "no evidence under {}; name a folder, or run a campaign first",
            root.display()
        ))),
    }
}

/// SHA-256 of all plans under `root`, of whichever campaign, that ask the question `question_sha256`,
/// oldest first by the names of their folders.
#[must_use]
pub fn earlier_plans(root: &Path, question_sha256: &str) -> Vec<String> {
    let below = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path()))
    };
    // The link would count what it points to twice.
    let top = below(root).filter(|path| *path != root.join(LATEST));
    let mut folders: Vec<PathBuf> = top
        .flat_map(|path| {
            if path.join(PLAN).is_file() {
                return vec![path];
            }
            below(&path).collect()
        })
        .collect();
    folders.sort_by(|one, other| (one.file_name(), one).cmp(&(other.file_name(), other)));
    folders
        .iter()
        .filter_map(|path| Folder::open(path).ok()?.plan().ok())
        .filter(|(plan, _)| plan.question_sha256 == question_sha256)
        .map(|(_, hash)| hash)
        .collect()
}

fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}

fn not_written(path: &Path, error: &io::Error) -> Failure {
    Failure::evidence(format!("{} could not be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::samples;

    #[test]
    fn earlier_plans_of_a_question_are_found_whatever_the_campaign_was_called() {
        let root = tempfile::tempdir().unwrap();
        let seal = |place: &str, question: &str| {
            let mut plan = samples::plan();
            plan.campaign.name = place.into();
            plan.question_sha256 = question.into();
            let bytes = serde_json::to_vec(&plan).unwrap();
            let folder = root.path().join(place);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(PLAN), &bytes).unwrap();
            sha256(&bytes)
        };
        let second = seal("a/20260102T000000Z-aa", "asked");
        let first = seal("b/20260101T000000Z-bb", "asked");
        let named = seal("named", "asked");
        seal("a/20260103T000000Z-cc", "other");
        seal("a/20260102T000000Z-aa/pilot", "asked");
        seal("named/pilot", "asked");
        let target = "a/20260102T000000Z-aa";
        std::os::unix::fs::symlink(target, root.path().join(LATEST)).unwrap();
        assert_eq!(
            earlier_plans(root.path(), "asked"),
            [first, second, named],
            "no pilot, and nothing twice"
        );
    }

    #[test]
    fn nothing_is_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("demo").join("x");
        Folder::create(&path).unwrap().write(PLAN, b"{}").unwrap();
        let failure = Folder::create(&path).unwrap_err();
        assert_eq!(failure.code, 2);
        let path = path.display();
        assert_eq!(
            failure.message,
            format!(
                "{path} exists; nothing is overwritten. --out another folder, or wiretrial run \
                 --resume {path}"
            )
        );
    }

    #[test]
    fn a_campaign_that_was_killed_before_its_plan_is_in_nobodys_way() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("out");
        let folder = Folder::create(&path).unwrap();
        folder.write("environment.json", b"{}").unwrap();
        fs::write(path.join("plan.json.part"), b"{").unwrap();
        assert!(refuse_existing(&path).is_ok());
        Folder::create(&path).unwrap();
        assert!(!path.join("environment.json").exists());
        fs::write(path.join("notes.txt"), b"mine").unwrap();
        assert_eq!(Folder::create(&path).unwrap_err().code, 2);
        assert!(path.join("notes.txt").exists());
        let empty = root.path().join("empty");
        fs::create_dir(&empty).unwrap();
        assert_eq!(refuse_existing(&empty).unwrap_err().code, 2);
    }

    #[test]
    fn half_written_files_go_and_whole_ones_stay() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("x")).unwrap();
        folder.write("tables/t7.csv", b"a").unwrap();
        fs::write(folder.path().join("tables/t8.csv.part"), b"").unwrap();
        folder.drop_parts().unwrap();
        assert_eq!(folder.files().unwrap(), ["tables/t7.csv"]);
    }

    #[test]
    fn sums_cover_everything_but_private_and_themselves() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(&root.path().join("c/x")).unwrap();
        folder.write(PLAN, b"{}").unwrap();
        folder.write(PRIVATE, b"secret").unwrap();
        folder.write("tables/t7.csv", b"a,b\r\n").unwrap();
        folder.write_sums().unwrap();
        let sums = String::from_utf8(folder.read(SUMS).unwrap()).unwrap();
        let names: Vec<&str> = sums
            .lines()
            .map(|line| line.split_once("  ").unwrap().1)
            .collect();
        assert_eq!(names, [PLAN, "tables/t7.csv"]);
    }

    #[test]
    fn latest_points_to_the_newest_below_the_root() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(latest(root.path()).unwrap_err().code, 2);
        for name in ["a", "b"] {
            let folder = Folder::create(&root.path().join("demo").join(name)).unwrap();
            folder.write(PLAN, b"{}").unwrap();
            link_latest(root.path(), &folder).unwrap();
            assert_eq!(
                latest(root.path()).unwrap(),
                root.path().join("demo").join(name)
            );
        }
    }

    #[test]
    fn a_discarded_folder_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        Folder::create(&root.path().join("demo/x"))
            .unwrap()
            .discard();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
