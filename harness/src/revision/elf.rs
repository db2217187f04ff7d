//! What an ELF file says about itself: build id, compilers, and where it looks for libraries.

use std::fs;
use std::io;
use std::path::Path;

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH};
use object::read::elf::{ElfFile, ElfFile32, ElfFile64, FileHeader};
use object::{Endianness, FileKind, Object, ObjectSection};

/// What was found. A file that is not ELF, or a damaged one, has nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Elf {
    /// GNU build id, hexadecimal.
    pub(super) build_id: Option<String>,
    /// Strings of `.comment`, each once, joined by `; `.
    pub(super) compiler: Option<String>,
    /// Names of the shared libraries it needs.
    pub(super) needed: Vec<String>,
    /// Folders it looks for them in before the system's, `$ORIGIN` as it stands.
    pub(super) run_path: Vec<String>,
}

/// Reads the file.
///
/// # Errors
///
/// The error of reading it.
pub(super) fn read(path: &Path) -> io::Result<Elf> {
    Ok(parse(&fs::read(path)?))
}

fn parse(bytes: &[u8]) -> Elf {
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf32) => ElfFile32::<Endianness>::parse(bytes).map(|file| describe(&file)),
        Ok(FileKind::Elf64) => ElfFile64::<Endianness>::parse(bytes).map(|file| describe(&file)),
        _ => return Elf::default(),
    }
    .unwrap_or_default()
}

fn describe<H: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, H>) -> Elf {
    let comment = file
        .section_by_name(".comment")
        .and_then(|section| section.data().ok());
    let run_path = [DT_RPATH, DT_RUNPATH]
        .iter()
        .flat_map(|tag| strings(file, *tag))
        .flat_map(|path| path.split(':').map(str::to_owned).collect::<Vec<_>>())
        .filter(|folder| !folder.is_empty())
        .collect();
    Elf {
        build_id: file.build_id().ok().flatten().map(hex),
        compiler: comment.and_then(comments),
        needed: strings(file, DT_NEEDED),
        run_path,
    }
}

/// The strings of one tag of the dynamic table.
fn strings<H: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, H>, tag: i64) -> Vec<String> {
    let Ok(table) = file
        .elf_section_table()
        .dynamic_table(file.endian(), file.data())
    else {
        return Vec::new();
    };
    table
        .iter()
        .filter(|entry| entry.tag == tag)
        .filter_map(|entry| table.string(entry).ok())
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect()
}

/// The section holds strings that end with NUL, often the same one of several objects.
fn comments(section: &[u8]) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    for text in section.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(text).trim().to_owned();
        if !text.is_empty() && !found.contains(&text) {
            found.push(text);
        }
    }
    (!found.is_empty()).then(|| found.join("; "))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn build_id_compiler_and_run_path_are_what_the_linker_was_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.c"), "int main(void){return 0;}\n").unwrap();
        let done = Command::new("cc")
            .args(["-o", "a", "a.c", "-Wl,--build-id=0xdeadbeef"])
            .args(["-Wl,-rpath,$ORIGIN/../lib:/opt/x", "-Wl,--no-as-needed"])
            .arg("-lm")
            .current_dir(folder.path())
            .status()
            .unwrap();
        assert!(done.success());
        let path = folder.path().join("a");
        let elf = read(&path).unwrap();
        assert_eq!(elf.build_id.as_deref(), Some("deadbeef"));
        assert!(elf.compiler.unwrap().starts_with("GCC: ("));
        assert_eq!(elf.run_path, ["$ORIGIN/../lib", "/opt/x"]);
        assert!(elf.needed.iter().any(|name| name.starts_with("libm.so")));
        let bytes = fs::read(&path).unwrap();
        for length in 0..bytes.len().min(4096) {
            // A shorter file is read as far as it goes, never beyond.
            let _ = parse(&bytes[..length]);
        }
    }

    #[test]
    fn what_is_not_elf_has_nothing() {
        assert_eq!(parse(b"#!/bin/sh\necho\n"), Elf::default());
        assert_eq!(parse(b""), Elf::default());
        assert_eq!(parse(b"\x7fELF"), Elf::default());
    }

    #[test]
    fn equal_comments_are_said_once() {
        let section = b"GCC: (x) 12\0rustc version 1\0GCC: (x) 12\0\0";
        assert_eq!(
            comments(section).as_deref(),
            Some("GCC: (x) 12; rustc version 1")
        );
        assert_eq!(comments(b"\0"), None);
    }
}
