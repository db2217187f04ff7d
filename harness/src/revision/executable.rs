//! What an executable is, and whether it stands for one revision alone.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use wiretrial_contract::digest::sha256_file;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::identity::Identity;

use super::elf::{self, Elf};

/// Bytes of a script that are looked at.
const SCRIPT: u64 = 4096;

/// Identity of an executable that was not built here.
///
/// # Errors
///
/// [`Failure::host`]: it cannot be read.
pub fn identity_of(path: &Path) -> Result<Identity, Failure> {
    let cannot =
        |error: io::Error| Failure::host(format!("cannot read {}: {error}", path.display()));
    let Elf {
        build_id, compiler, ..
    } = elf::read(path).map_err(cannot)?;
    Ok(Identity {
        sha256: sha256_file(path).map_err(cannot)?,
        build_id,
        commit: None,
        dirty_sha256: None,
        compiler,
        build: Vec::new(),
    })
}

/// Why a built executable cannot be taken out of the checkout `top`, where the other revision is
/// built next; `None` when it can. `binary` is its name in the recipe.
///
/// # Errors
///
/// [`Failure::host`]: it cannot be read.
pub(super) fn tied(path: &Path, binary: &str, top: &Path) -> Result<Option<String>, Failure> {
    let cannot =
        |error: io::Error| Failure::host(format!("cannot read {}: {error}", path.display()));
    if is_libtool_wrapper(path).map_err(cannot)? {
        let (folder, name) = binary.rsplit_once('/').unwrap_or((".", binary));
        let real = match folder {
            "." => format!(".libs/{name}"),
            folder => format!("{folder}/.libs/{name}"),
        };
        return Ok(Some(format!(
            "is a script that libtool wraps around the executable, which cannot be measured; use \
             {real} as program.binary, or build with --disable-shared"
        )));
    }
    let elf = elf::read(path).map_err(cannot)?;
    Ok(library_inside(&elf, path, top).map(|library| {
        format!(
            "loads {library} from the checkout, where the other revision puts its own; link it \
             statically (--disable-shared for libtool)"
        )
    }))
}

/// libtool writes `# prog - temporary wrapper script for .libs/prog` (ltmain.sh,
/// `func_emit_wrapper`).
fn is_libtool_wrapper(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(SCRIPT).read_to_end(&mut start)?;
    let text = String::from_utf8_lossy(&start);
    Ok(text.starts_with("#!") && text.contains("temporary wrapper script for"))
}

/// A needed library that the run path finds inside the checkout (ld.so(8)).
fn library_inside(elf: &Elf, path: &Path, top: &Path) -> Option<String> {
    let origin = path.parent()?.to_string_lossy();
    let folders: Vec<_> = elf
        .run_path
        .iter()
        .map(|folder| {
            folder
                .replace("${ORIGIN}", &origin)
                .replace("$ORIGIN", &origin)
        })
        // A relative one is relative to wherever the program is started.
        .map(|folder| top.join(folder))
        .collect();
    elf.needed.iter().find_map(|library| {
        let found = folders
            .iter()
            .map(|folder| folder.join(library))
            .find(|file| file.exists())?;
        let inside = found.canonicalize().is_ok_and(|file| file.starts_with(top));
        inside.then(|| library.clone())
    })
}
