//! What a harness and children of protocol 1 once said to each other, line by line. This build must
//! say the same to them, and understand them, for ever: `compare` runs older receivers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use wiretrial_contract::control::{FromChild, Message, Reader, ToChild, send};

const RECEIVER: &str = include_str!("transcripts/receiver-1.txt");
const GENERATOR: &str = include_str!("transcripts/generator-1.txt");

/// Lines of one side: `>` the harness, `<` the child.
fn lines<'a>(transcript: &'a str, side: &'a str) -> impl Iterator<Item = &'a str> {
    transcript
        .lines()
        .filter_map(move |line| line.strip_prefix(side))
}

fn parsed<M: Message>(line: &str) -> M {
    let line = format!("{line}\n");
    let message = Reader::new(line.as_bytes()).receive();
    message
        .unwrap_or_else(|error| panic!("{error}: {line}"))
        .unwrap()
}

#[test]
fn this_harness_says_what_it_said_in_protocol_1() {
    for transcript in [RECEIVER, GENERATOR] {
        let mut said = 0;
        for line in lines(transcript, "> ") {
            let message: ToChild = parsed(line);
            let mut again = Vec::new();
            send(&mut again, &message).unwrap();
            assert_eq!(String::from_utf8(again).unwrap().trim_end(), line);
            said += 1;
        }
        assert!(said >= 3, "prepare, at least one order, and bye");
    }
}

#[test]
fn this_harness_understands_children_of_protocol_1() {
    let heard = |transcript: &str| -> Vec<&'static str> {
        lines(transcript, "< ")
            .map(|line| parsed::<FromChild>(line).fields().unwrap().0)
            .collect()
    };
    assert_eq!(
        heard(RECEIVER),
        ["hello", "ready", "seen", "armed", "done", "report"]
    );
    assert_eq!(heard(GENERATOR), ["hello", "ready", "done", "report"]);
}
