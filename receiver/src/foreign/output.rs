//! What a program prints: read at once, so that it never waits for us, and kept within bounds, so
//! that a flood fills neither memory nor a disk.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use regex::bytes::Regex;
use wiretrial_contract::control::quote;
use wiretrial_contract::failure::Failure;

/// Bytes kept of the start.
const HEAD: usize = 256 << 10;
/// Bytes kept of the end, where counts stand as a rule.
const TAIL: usize = 1 << 20;
/// Longest line that is looked at for the sign that a program is ready, bytes.
const LONGEST_LINE: usize = 8 << 10;
/// Longest wait for the end of a pipe whose program has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The start and the end of a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: bool,
}

impl Kept {
    /// Takes what comes next.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        let room = HEAD - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend(first);
        if rest.len() > TAIL {
            self.left_out = true;
            bytes = &rest[rest.len() - TAIL..];
        } else {
            bytes = rest;
        }
        let over = (self.tail.len() + bytes.len()).saturating_sub(TAIL);
        self.left_out |= over > 0;
        self.tail.drain(..over);
        self.tail.extend(bytes);
    }

    /// Start and end as text; a line ends where something was left out.
    pub(super) fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.left_out {
            bytes.push(b'\n');
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Lines and characters of a program's last words.
const LAST_LINES: usize = 3;
const LAST_CHARACTERS: usize = 80;

/// The last three lines with anything in them, each quoted from its end as far as 80 characters: what
/// a line begins with is often the path of the program itself.
pub(super) fn last_lines(text: &str) -> Option<String> {
    let lines = text.lines().rev().map(str::trim);
    let mut lines: Vec<String> = lines
        .filter(|line| !line.is_empty())
        .take(LAST_LINES)
        .map(|line| {
            let more = line.chars().count().saturating_sub(LAST_CHARACTERS);
            let end: String = line.chars().skip(more).collect();
            format!("{}{}", if more > 0 { "..." } else { "" }, quote(&end))
        })
        .collect();
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join(" / "))
}

/// Reads one pipe of a program on a thread of its own.
#[derive(Debug)]
pub(super) struct Pump {
    kept: Arc<Mutex<Kept>>,
    matched: Arc<AtomicBool>,
    end: Receiver<()>,
}

impl Pump {
    /// Starts reading; with a `sign` each line is compared with it until one matches.
    ///
    /// # Errors
    ///
    /// A host failure when no thread can be started.
    pub(super) fn start(
        mut pipe: impl Read + Send + 'static,
        sign: Option<Regex>,
    ) -> Result<Self, Failure> {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let matched = Arc::new(AtomicBool::new(false));
        let (ended, end) = channel();
        let (keep, mark) = (Arc::clone(&kept), Arc::clone(&matched));
        let work = move || {
            let mut lines = sign.map(Lines::new);
            let mut buffer = vec![0; 64 << 10];
            loop {
                match pipe.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => {
                        let bytes = &buffer[..read];
                        keep.lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(bytes);
                        if lines.as_mut().is_some_and(|lines| lines.push(bytes)) {
                            mark.store(true, Ordering::Release);
                            lines = None;
                        }
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            // Nobody may be waiting.
            let _ = ended.send(());
        };
        thread::Builder::new()
            .name("output".into())
            .spawn(work)
            .map_err(|error| Failure::host(format!("cannot start a reading thread: {error}")))?;
        Ok(Self { kept, matched, end })
    }

    /// Whether a line has matched the sign.
    pub(super) fn matched(&self) -> bool {
        self.matched.load(Ordering::Acquire)
    }

    /// What it kept so far.
    pub(super) fn text(&self) -> String {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .text()
    }

    /// What it kept, once the pipe has ended; a pipe that somebody holds open is left after a
    /// second.
    pub(super) fn finish(&self) -> String {
        let _ = self.end.recv_timeout(LAST_WORDS);
        self.text()
    }
}

/// Compares each line with an expression, also while it is not complete.
struct Lines {
    sign: Regex,
    line: Vec<u8>,
}

impl Lines {
    fn new(sign: Regex) -> Self {
        Self {
            sign,
            line: Vec::new(),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> bool {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST_LINE - self.line.len();
            self.line.extend(&piece[..room.min(piece.len())]);
            if self.sign.is_match(self.line.trim_ascii_end()) {
                return true;
            }
            if piece.ends_with(b"\n") {
                self.line.clear();
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_and_end_stay_and_the_middle_goes() {
        let mut kept = Kept::default();
        kept.push(b"first\n");
        assert_eq!(kept.text(), "first\n");
        for _ in 0..5000 {
            kept.push(&[b'x'; 1000]);
        }
        kept.push(b"\nlast\n");
        let text = kept.text();
        assert_eq!(text.len(), HEAD + 1 + TAIL);
        assert!(text.starts_with("first\n") && text.ends_with("x\nlast\n"));
        assert!(last_lines(&text).unwrap().ends_with("last"));

        let mut at_once = Kept::default();
        at_once.push(&vec![b'y'; HEAD + TAIL]);
        assert_eq!(at_once.text().len(), HEAD + TAIL);
        at_once.push(&vec![b'z'; 2 * TAIL]);
        assert!(at_once.text().ends_with("zz") && at_once.left_out);
        assert_eq!(at_once.tail.len(), TAIL);
    }

    #[test]
    fn last_words_are_quoted_and_short() {
        assert_eq!(
            last_lines("0\n1\na\n b\tc \n\n"),
            Some("1 / a / b\\tc".into())
        );
        assert_eq!(last_lines(" \n"), None);
        let long = last_lines(&format!("{}{}", "path/".repeat(30), "invalid option")).unwrap();
        assert!(long.starts_with("...") && long.ends_with("invalid option"));
        assert_eq!(long.len(), 83);
    }

    #[test]
    fn a_sign_is_seen_across_pieces_and_not_across_lines() {
        let lines = || Lines::new(Regex::new("^listening on").unwrap());
        let mut one = lines();
        assert!(!one.push(b"noise\nlisten"));
        assert!(one.push(b"ing on lo"));
        assert!(!lines().push(b"not listening on\nlistening\non"));
        let long = [vec![b'x'; 2 * LONGEST_LINE], b"\nlistening on\n".to_vec()].concat();
        assert!(lines().push(&long));
    }

    #[test]
    fn a_pump_reads_to_the_end() {
        let sign = Regex::new("ready").unwrap();
        let pump = Pump::start(&b"get ready\ngo\n"[..], Some(sign)).unwrap();
        assert_eq!(pump.finish(), "get ready\ngo\n");
        assert!(pump.matched());
    }
}
