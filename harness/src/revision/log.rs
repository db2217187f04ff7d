//! What a build printed: a file that keeps its end, and its last lines for a sentence.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// Most bytes that are kept, from the end.
const CAP: usize = 4 << 20;
/// Longest line in a sentence, characters.
const LINE: usize = 200;

/// An open log.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// The end of all that was written.
    kept: Vec<u8>,
    /// Bytes before `kept`.
    cut: u64,
    /// Where the current step begins in `kept`.
    step: usize,
}

impl Log {
    /// Makes the file, and the folder if need be.
    ///
    /// # Errors
    ///
    /// The error of making it.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = File::create(&path)?;
        Ok(Self {
            path,
            file,
            kept: Vec::new(),
            cut: 0,
            step: 0,
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a step with a line of its own.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub(super) fn begin(&mut self, line: &str) -> io::Result<()> {
        if self.kept.last().is_some_and(|byte| *byte != b'\n') {
            self.write(b"\n")?;
        }
        self.write(line.as_bytes())?;
        self.write(b"\n")?;
        self.step = self.kept.len();
        Ok(())
    }

    /// Adds what was printed. The file may grow to twice the cap before its beginning is cut.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > 2 * CAP {
            self.trim()?;
        }
        Ok(())
    }

    /// Cuts the file to its cap.
    ///
    /// # Errors
    ///
    /// The error of writing.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if self.kept.len() > CAP {
            self.trim()?;
        }
        Ok(())
    }

    /// The last `count` lines that the current step printed, fit for a terminal.
    pub(super) fn last_lines(&self, count: usize) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.kept[self.step..]);
        let mut lines: Vec<String> = text.lines().rev().take(count).map(printable).collect();
        lines.reverse();
        lines
    }

    /// Cuts whole lines from the beginning, or half a line that is longer than the cap.
    fn trim(&mut self) -> io::Result<()> {
        let least = self.kept.len() - CAP;
        let newline = self.kept[least..].iter().position(|byte| *byte == b'\n');
        let from = least + newline.map_or(0, |at| at + 1);
        self.kept.drain(..from);
        self.step = self.step.saturating_sub(from);
        self.cut += u64::try_from(from).unwrap_or(u64::MAX);
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(self.file, "[{} bytes before this were cut]", self.cut)?;
        self.file.write_all(&self.kept)
    }
}

/// Without control characters, which could write to any place of a terminal.
fn printable(line: &str) -> String {
    line.chars()
        .map(|c| if c == '\t' { ' ' } else { c })
        .filter(|c| !c.is_control())
        .take(LINE)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_the_cut_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw/build.log");
        let mut log = Log::create(path.clone()).unwrap();
        log.begin("== step 1").unwrap();
        let line = [b'x'; 99];
        for _ in 0..100_000 {
            log.write(&line).unwrap();
            log.write(b"\n").unwrap();
        }
        log.write(b"the end").unwrap();
        log.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        let cut: usize = first
            .strip_prefix('[')
            .and_then(|text| text.split_once(' '))
            .unwrap()
            .0
            .parse()
            .unwrap();
        assert!(rest.len() <= CAP && rest.ends_with("\nthe end"));
        assert_eq!(cut + rest.len(), "== step 1\n".len() + 10_000_000 + 7);
        assert_eq!(log.last_lines(1), ["the end"]);
    }

    #[test]
    fn last_lines_are_the_steps_own_and_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::create(folder.path().join("a.log")).unwrap();
        log.begin("== step 1").unwrap();
        log.write(b"of the first").unwrap();
        log.begin("== step 2").unwrap();
        assert!(log.last_lines(20).is_empty());
        log.write(b"one\n\x1b[31mtwo\x07\tx\n").unwrap();
        assert_eq!(log.last_lines(20), ["one", "[31mtwo x"]);
        assert_eq!(log.last_lines(1), ["[31mtwo x"]);
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert!(text.starts_with("== step 1\nof the first\n== step 2\n"));
    }
}
