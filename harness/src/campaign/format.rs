//! `campaigns/FORMAT.md`, generated from the table of keys.

use wiretrial_contract::control::ReceiveCpu;
use wiretrial_contract::metric::{self, Metric};
use wiretrial_contract::plan::Workload;

use super::keys::{Default as KeyDefault, Form, KEYS, Key, SCHEMA};
use super::overrides::QUICK;
use super::{placeholders, shipped};

/// The whole page.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(INTRO);
    page += &format!(
        "\n## Example\n\n`{}`:\n\n```toml\n{}```\n",
        EXAMPLE.path, EXAMPLE.text
    );
    page += "\n## Keys\n\n\
        \"May be set by\": `file` is anywhere outside of `[[case]]` and `[arm.NAME]`. `--set` may \
        set every key but `schema`.\n";
    let mut table = "";
    for key in KEYS {
        let (of, _) = key.path.split_once('.').unwrap_or(("", key.path));
        if of != table || key.path == KEYS[0].path {
            table = of;
            let title = if of.is_empty() {
                "top of the file".into()
            } else {
                format!("`[{of}]`")
            };
            page += &format!(
                "\n### {title}\n\n\
                 | key | form | allowed | default | may be set by | meaning |\n\
                 | --- | --- | --- | --- | --- | --- |\n"
            );
        }
        page += &row(key);
    }
    page += &placeholders();
    page += ADAPTERS;
    for adapter in shipped::ADAPTERS {
        page += &format!("\n`{}`:\n\n```toml\n{}```\n", adapter.path, adapter.text);
    }
    page += GATES;
    page += &metrics();
    page += CHECKS;
    let quick: Vec<String> = QUICK
        .iter()
        .map(|(path, value)| format!("`{path}` {value}"))
        .collect();
    page += &format!(
        "\n## `--quick`\n\n\
         Lies over file, cases and arms, below `--set`, where a campaign has such a key: {}. Few pairs \
         and few slices make its evidence exploratory at most.\n",
        quick.join(", ")
    );
    page
}

const EXAMPLE: shipped::Shipped = shipped::ALL[0];

fn placeholders() -> String {
    let mut text = String::from(PROGRAMS);
    for (workload, meaning) in [
        (Workload::Live, "captures on an interface"),
        (Workload::File, "reads a capture file"),
        (Workload::Command, "runs as it is"),
    ] {
        let known = placeholders::of(workload).iter();
        let known: Vec<String> = known.map(|known| format!("`{known}`")).collect();
        text += &format!(
            "| `{}` | {meaning} | {} |\n",
            workload.name(),
            known.join(" ")
        );
    }
    text += PLACEHOLDERS;
    text
}

fn metrics() -> String {
    let mut text = String::from(
        "\n| trials | metrics, the default of `design.primary` first |\n| --- | --- |\n",
    );
    for (title, workload, receive_cpu) in [
        (
            "live, receive-cpu sender",
            Workload::Live,
            ReceiveCpu::Sender,
        ),
        (
            "live, receive-cpu separate",
            Workload::Live,
            ReceiveCpu::Separate,
        ),
        ("file", Workload::File, ReceiveCpu::Sender),
        ("command", Workload::Command, ReceiveCpu::Sender),
    ] {
        let names = metric::names(Metric::of(workload, receive_cpu));
        text += &format!("| {title} | {names} |\n");
    }
    text + "\nLatencies take full stamps (frames of 94 bytes or more with ipv4, 114 with ipv6) and the \
        built-in receiver: a program of the user's does not say when it saw a packet. With \
        `heap-bytes-per-packet` as primary, trials are diagnostic: the receiver counts what it takes \
        from its allocator, and no time is measured. Instructions are known where the processor counts \
        them, of live trials for the built-in receiver. What is for a million packets can be 0: it is \
        compared as a difference. `lost-per-million` needs a program that says what it processed, or \
        received and dropped; the other two need the built-in receiver.\n"
}

const PROGRAMS: &str = "
## Programs

Without a key of `[program]` the built-in receiver is measured: in live workloads as `[receiver]`
says, in file workloads as `raw-fold`, which folds every frame into a sum. With one, a program of the
user's is, in both arms of every case; `receiver.drain-limit` is then the only key of `[receiver]`
that means something. It is started without a shell, from its argument list of the workload:

| workload | the program | placeholders |
| --- | --- | --- |
";

const PLACEHOLDERS: &str = "
`{binary}` is the executable of the arm and stands in every argument list; `{interface}` is captured
on; `{port}` is the UDP port the arm's datagrams go to and `{filter}` a filter of pcap-filter(7) that
takes them alone; `{file}` is read; `{work}` is a new empty folder that is removed at the end;
`{packets}` is how many packets there are, in the file or sent. `{{` and `}}` are braces. They also
stand in `cwd` and in the paths and commands of `counts`.

A source of a count is one of these, or one per workload, `{ live = SOURCE, file = SOURCE }`. A regular
expression (syntax of the Rust crate regex) has one group, the number; of several matches the last
counts. Separators of thousands are allowed.

| source | where |
| --- | --- |
| `{ stdout = 'regex' }`, `{ stderr = 'regex' }` | in what it printed, after its end |
| `{ file = \"{work}/stats\", regex = 'regex' }` | in a file, after its end |
| `{ json = \"/pointer\" }` | at a pointer (RFC 6901) into the last line of standard output that is JSON |
| `{ command = [\"ctl\", \"{work}/ctl\"], stdout = 'regex' }` | in what a command prints that runs before it is asked to end |

What a program does not say is unknown, never 0. A program without `processed` is measured per packet
sent, and nothing shows that it did its work.
";

const ADAPTERS: &str = "
## Adapters

`adapter = \"NAME\"` brings in the `[program]` of a shipped file, `adapter = \"path/of.toml\"` that of a
file of one's own, which holds `schema` and `[program]` only. Its keys lie right below those of the
layer that names it, so `binary`, say, can be set beside it; an adapter that a later layer names takes
its place as a whole.
";

const GATES: &str = "
## Gates

Every campaign has the gate `no_regression`, which fails as `design.fail-on` says. More are declared,
as in:

```toml
[[gate]]
name = \"worth-it\"
any = [\"units-per-second up 15%\", \"peak-rss-bytes down 20%\"]

[[gate]]
name = \"floor\"
all = [\"units-per-second >= 369k\", \"peak-rss-bytes <= 16MiB\"]
```

A gate has a unique `name` and either `any` or `all`, and it holds in every case. `METRIC up PERCENT`
and `METRIC down PERCENT` are changes from the baseline to the candidate, shown by the end of the
decision interval; `METRIC >= NUMBER` and `METRIC <= NUMBER` are values in the metric's unit, shown by
the one-sided 95 % bound of the candidate's mean. Numbers may have k or M, bytes also KiB, MiB, GiB.

## Metrics
";

const INTRO: &str = "\
# Campaign files

<!-- Generated from the tables in harness/src/campaign/keys; a test compares them. -->

A campaign file says what is compared, under which traffic, and how the answer is decided. It is
TOML with keys in kebab-case. Every value carries its unit, in the value (`\"1s\"`, `\"16MiB\"`,
`\"3%\"`) or in the key (`rate-pps`). A key that is not in the tables below is refused with its
file, line and the nearest key there is. `wiretrial plan FILE` prints what a file means, and
`wiretrial plan FILE --full` every value and every trial.

An argument with a `/` or the ending `.toml` is a file; anything else is a campaign inside of the
binary, such as `demo`.

## Layers

Later layers win: defaults < file < case < arm < `--quick` < `--set KEY=VALUE` < `--pairs`, `--aa`,
`--port`.

- **Arms.** A paired campaign has two arms, `baseline` and `candidate`. `[arm.NAME.receiver]` and
  `[arm.NAME.program]` set what makes the arm, and nothing else can. An arm that the file does not
  name has the settings of the file and of the case.
- **Cases.** Each `[[case]]` is a named point: its `name` and any key of `traffic`, `receiver`,
  `program` or `workload` but `workload.kind`, dotted or as a table. Names are unique: parts of a-z,
  0-9, dot, underscore and dash, separated by `/`. A file without cases has one, called `default`. A
  key that both a case and an arm set is an error, as neither is meant to win.
- **Sweeps.** `sweep.KEY = [VALUE, ...]`, above the first table of the file, or `KEY = [VALUE, ...]`
  under `[sweep]`, makes every case once per value; several swept keys multiply, the first one of
  the file slowest. The value as written is added to the name of the
  case, in lower case and with other signs as dashes: `sweep.traffic.rate-pps = [20000, \"50k\"]`
  makes `NAME/20000` and `NAME/50k`. A swept key cannot be set by a case, an arm or the command
  line.
- **`--set KEY=VALUE`** takes a TOML value, else a text: `--set traffic.duration=2s`. It holds for
  all cases and arms; `--set arm.candidate.receiver.timeout=1ms` for one arm.
";

const CHECKS: &str = "
## What is checked beyond single values

- An even number of pairs, at least 6: each arm is launched first equally often.
- A frame holds the headers and the stamp of a counted packet, and `receiver.snaplen` keeps them.
- A slice is at least 5 times, and a warm-up at least 20 times, the longer `receiver.timeout` of
  the arms. The defaults follow; explicit values that are too short are refused.
- The duration holds at least one slice. Fewer than 20 slices an arm are flagged `few_slices`. If it
  is no multiple of the slice, as many slices as fit share what is left over.
- Even the shortest slice, 4/5 of the nominal one, holds a packet of every flow and a full batch of
  every sender.
- The primary metric and those of gates are ones that the trials have: at a fixed offered rate
  elapsed time and rates would be the generator's clock.
- The timeout of a program of the user's is not known; only the plain minima hold for it. It has no
  warm-up where none is set: its counts cover its whole life, and what is lost of a warm-up could
  not be told from what counts.
- On loopback the sender does the receive work; `receive-cpu = \"separate\"` needs a wire.
- Nothing is sent in file and command workloads: keys of `traffic`, `receiver` and `topology` are
  refused there, as passes are in live ones. Where the command line chooses another workload than
  the file, with `--set workload.kind=live`, keys of the file's own workload are passed over.
- `{binary}` stands in every argument list, every placeholder means something in its workload, every
  regular expression compiles, and one that reads a count has one group.
- After a `build`, `binary` is a path inside the repository.
- A trial of a sequential campaign also alternates with the control port: without it there would be
  no kernel share of the capture cost.
";

fn row(key: &Key) -> String {
    let quoted = |text: &str| match key.form {
        Form::Count | Form::Switch => format!("`{text}`"),
        _ => format!("`\"{text}\"`"),
    };
    let default = match key.default {
        KeyDefault::Fixed(text) => quoted(text),
        KeyDefault::Derived(words) => words.into(),
        KeyDefault::Required if key.path == "schema" => format!("none: write `schema = {SCHEMA}`"),
        KeyDefault::Required => "none: must be set".into(),
    };
    let (_, name) = key.path.split_once('.').unwrap_or(("", key.path));
    format!(
        "| `{name}` | {} | {} | {default} | {} | {} |\n",
        key.form.name(),
        key.range_text(),
        key.level.name(),
        key.meaning
    )
}
