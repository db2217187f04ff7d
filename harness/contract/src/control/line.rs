//! One message a line: writing, reading with limits, and what can be wrong with a line.

use std::fmt;
use std::io::{self, BufRead, Write};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{MAX_LINE, MAX_NOISE, PROTOCOL_RANGE};

/// Why a line is not a message.
#[derive(Debug)]
#[non_exhaustive]
pub enum LineError {
    /// The pipe failed.
    Io(io::Error),
    /// A line longer than [`MAX_LINE`].
    TooLong,
    /// More than [`MAX_NOISE`] bytes without a hello.
    NoHello,
    /// Not a JSON object with `v` and `type`; holds at most 80 characters of it.
    NotAMessage(String),
    /// A protocol version this build does not speak.
    Version(u64),
    /// A `type` that this end does not expect.
    UnknownType(String),
    /// A message whose fields are wrong; names the field.
    Fields {
        /// The message's type.
        kind: String,
        /// What is wrong with it.
        cause: String,
    },
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read the next message: {error}"),
            Self::TooLong => write!(f, "a line is longer than {MAX_LINE} bytes"),
            Self::NoHello => write!(f, "no hello within the first {MAX_NOISE} bytes"),
            Self::NotAMessage(text) => write!(f, "not a message: \"{text}\""),
            Self::Version(version) => {
                write!(
                    f,
                    "protocol version {version}; this build speaks {} to {}",
                    PROTOCOL_RANGE[0], PROTOCOL_RANGE[1]
                )
            }
            Self::UnknownType(kind) => write!(f, "unexpected message \"{kind}\""),
            Self::Fields { kind, cause } => write!(f, "{kind}: {cause}"),
        }
    }
}

impl std::error::Error for LineError {}

/// Any message of the line protocol, on its way out or in.
pub trait Message: Sized {
    /// The protocol version it came with: its line carries that one, so that a peer of any version
    /// reads every message it knows.
    fn version(&self) -> u32 {
        1
    }

    /// Its `type` and its fields.
    ///
    /// # Errors
    ///
    /// The error of serialising the fields; none of the project's types can cause one.
    fn fields(&self) -> serde_json::Result<(&'static str, Value)>;

    /// The message of `kind` with these `fields`.
    ///
    /// # Errors
    ///
    /// [`LineError::UnknownType`] or [`LineError::Fields`].
    fn from_fields(kind: &str, fields: Value) -> Result<Self, LineError>;
}

/// Writes one message as one line and flushes it.
///
/// # Errors
///
/// The error of the pipe; a closed one means that the other end is gone.
pub fn send(out: &mut impl Write, message: &impl Message) -> io::Result<()> {
    let (kind, fields) = message.fields()?;
    let mut line = Map::new();
    line.insert("v".into(), message.version().into());
    line.insert("type".into(), kind.into());
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    let mut bytes = serde_json::to_vec(&Value::Object(line))?;
    bytes.push(b'\n');
    out.write_all(&bytes)?;
    out.flush()
}

/// Reads messages from one end of a pipe.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    line: Vec<u8>,
    noise_left: usize,
}

impl<R: BufRead> Reader<R> {
    /// A reader that expects messages from the first byte on.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            noise_left: 0,
        }
    }

    /// A reader that skips up to [`MAX_NOISE`] bytes of other text before the first message.
    pub fn after_noise(input: R) -> Self {
        Self {
            noise_left: MAX_NOISE,
            ..Self::new(input)
        }
    }

    /// The next message, or `None` at the end of the pipe.
    ///
    /// # Errors
    ///
    /// See [`LineError`]. After an error the stream is not usable.
    pub fn receive<M: Message>(&mut self) -> Result<Option<M>, LineError> {
        loop {
            self.line.clear();
            let limit = u64::try_from(MAX_LINE).unwrap_or(u64::MAX) + 1;
            let read = io::Read::take(&mut self.input, limit)
                .read_until(b'\n', &mut self.line)
                .map_err(LineError::Io)?;
            if read == 0 {
                return Ok(None);
            }
            if read > MAX_LINE {
                return Err(LineError::TooLong);
            }
            match parse(&self.line) {
                Err(LineError::NotAMessage(_)) if self.noise_left > 0 => {
                    self.noise_left = self.noise_left.saturating_sub(read);
                    if self.noise_left == 0 {
                        return Err(LineError::NoHello);
                    }
                }
                Err(error) => return Err(error),
                Ok((kind, fields)) => {
                    self.noise_left = 0;
                    return M::from_fields(&kind, fields).map(Some);
                }
            }
        }
    }
}

fn parse(line: &[u8]) -> Result<(String, Value), LineError> {
    let not = || LineError::NotAMessage(quote(&String::from_utf8_lossy(line)));
    let Ok(Value::Object(mut fields)) = serde_json::from_slice::<Value>(line) else {
        return Err(not());
    };
    let version = fields
        .remove("v")
        .and_then(|v| v.as_u64())
        .ok_or_else(not)?;
    let Some(Value::String(kind)) = fields.remove("type") else {
        return Err(not());
    };
    let [low, high] = PROTOCOL_RANGE;
    // A hello says which versions its sender speaks, so it is read whatever version it carries.
    if kind != "hello" && !(u64::from(low)..=u64::from(high)).contains(&version) {
        return Err(LineError::Version(version));
    }
    Ok((kind, Value::Object(fields)))
}

/// The highest version both ranges hold.
#[must_use]
pub fn common_version(ours: [u32; 2], theirs: [u32; 2]) -> Option<u32> {
    let high = ours[1].min(theirs[1]);
    (high >= ours[0].max(theirs[0])).then_some(high)
}

/// The first 80 characters of what another process said, control characters made visible.
#[must_use]
pub fn quote(text: &str) -> String {
    text.trim_end()
        .chars()
        .take(80)
        .flat_map(char::escape_debug)
        .collect()
}

pub(super) fn typed<T: DeserializeOwned>(kind: &str, fields: Value) -> Result<T, LineError> {
    serde_json::from_value(fields).map_err(|error| LineError::Fields {
        kind: kind.to_owned(),
        cause: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{
        CaptureSettings, ChildError, Engine, FromChild, ReceiverPrepare, SourcePorts, Stop,
        ToChild, TrialIdentity,
    };
    use crate::stamp::Form;
    use crate::units::Family;

    fn read_all(text: &[u8]) -> Result<Vec<ToChild>, LineError> {
        let mut reader = Reader::new(text);
        let mut all = Vec::new();
        while let Some(message) = reader.receive()? {
            all.push(message);
        }
        Ok(all)
    }

    fn prepare() -> ReceiverPrepare {
        ReceiverPrepare {
            interface: "lo".into(),
            family: Family::Ipv4,
            port: 39053,
            source_ports: SourcePorts {
                first: 40000,
                count: 1,
            },
            identity: TrialIdentity {
                run_id: u64::MAX,
                trial: 3,
                nonce: 4,
            },
            form: Form::Compact,
            planned: vec![20_000],
            capture: CaptureSettings {
                buffer_bytes: 16 << 20,
                immediate: false,
                timeout_ns: 10_000_000,
                snaplen: 128,
                promiscuous: false,
            },
            engine: Engine::Direct,
            drain_limit_ns: 2_000_000_000,
            quiet_ns: 200_000_000,
            deadline_ns: 9_000_000_000,
            cpu: Some(1),
        }
    }

    #[test]
    fn several_messages_in_one_stream() {
        let mut bytes = Vec::new();
        let stop = ToChild::Stop(Stop {
            accepted: vec![1, 2],
        });
        for message in [
            &ToChild::PrepareReceiver(prepare()),
            &ToChild::Go,
            &stop,
            &ToChild::Bye,
        ] {
            send(&mut bytes, message).unwrap();
        }
        assert_eq!(
            read_all(&bytes).unwrap(),
            [
                ToChild::PrepareReceiver(prepare()),
                ToChild::Go,
                stop,
                ToChild::Bye
            ]
        );
    }

    #[test]
    fn a_field_at_its_default_is_not_sent_and_an_unknown_one_is_named() {
        let mut bytes = Vec::new();
        send(&mut bytes, &ToChild::PrepareReceiver(prepare())).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains("engine"), "{text}");
        let changed = text.replace("\"interface\"", "\"colour\":1,\"interface\"");
        let error = read_all(changed.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("colour"), "{error}");
    }

    #[test]
    fn a_childs_unknown_fields_are_ignored() {
        let line = b"{\"v\":1,\"type\":\"error\",\"code\":3,\"message\":\"no\",\"colour\":1}\n";
        let message: FromChild = Reader::new(&line[..]).receive().unwrap().unwrap();
        assert_eq!(
            message,
            FromChild::Error(ChildError {
                code: 3,
                message: "no".into()
            })
        );
    }

    #[test]
    fn noise_is_skipped_only_before_the_first_message() {
        let text = b"Welcome to host\n{\"v\":1,\"type\":\"seen\"}\nnoise\n";
        let mut reader = Reader::after_noise(&text[..]);
        assert_eq!(
            reader.receive::<FromChild>().unwrap(),
            Some(FromChild::Seen)
        );
        let error = reader.receive::<FromChild>().unwrap_err();
        assert!(matches!(error, LineError::NotAMessage(ref text) if text == "noise"));
        let noise = "x\n".repeat(MAX_NOISE);
        let error = Reader::after_noise(noise.as_bytes())
            .receive::<FromChild>()
            .unwrap_err();
        assert!(matches!(error, LineError::NoHello));
    }

    #[test]
    fn a_line_of_two_mebibytes_is_refused() {
        let line = vec![b'x'; 2 << 20];
        assert!(matches!(read_all(&line).unwrap_err(), LineError::TooLong));
    }

    #[test]
    fn another_version_is_refused_after_the_hello() {
        let error = read_all(b"{\"v\":3,\"type\":\"go\"}\n").unwrap_err();
        assert!(matches!(error, LineError::Version(3)));
        assert_eq!(common_version([1, 3], [2, 5]), Some(3));
        assert_eq!(common_version([1, 1], [2, 5]), None);
    }
}
