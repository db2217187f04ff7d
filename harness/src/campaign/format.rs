//! `campaigns/FORMAT.md`, generated from the table of keys.

use super::keys::{Default as KeyDefault, Form, KEYS, Key, SCHEMA};
use super::overrides::QUICK;
use super::shipped;

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
    page += CHECKS;
    let quick: Vec<String> = QUICK
        .iter()
        .map(|(path, value)| format!("`{path}` {value}"))
        .collect();
    page += &format!(
        "\n## `--quick`\n\n\
         Lies over file, cases and arms, below `--set`: {}. Few pairs and few slices make its \
         evidence exploratory at most.\n",
        quick.join(", ")
    );
    page
}

const EXAMPLE: shipped::Shipped = shipped::ALL[0];

const INTRO: &str = "\
# Campaign files

<!-- Generated from harness/src/campaign/keys/table.rs; a test compares them. -->

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

- **Arms.** A paired campaign has two arms, `baseline` and `candidate`. `[arm.NAME.receiver]` sets
  what makes the arm, which is `receiver.*` and nothing else. An arm that the file does not name has
  the settings of the file and of the case.
- **Cases.** Each `[[case]]` is a named point: its `name` and any key of `traffic` or `receiver`,
  dotted or as a table. Names are unique: parts of a-z, 0-9, dot, underscore and dash, separated by
  `/`. A file without cases has one, called `default`. A key that both a case and an arm set is an
  error, as neither is meant to win.
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
- A slice is at least 5 times, and the warm-up at least 20 times, the longer `receiver.timeout` of
  the arms. The defaults follow; explicit values that are too short are refused.
- The duration holds at least one slice. Fewer than 20 slices an arm are flagged `few_slices`. If it
  is no multiple of the slice, as many slices as fit share what is left over.
- Even the shortest slice, 4/5 of the nominal one, holds a packet of every flow and a full batch of
  every sender.
- The primary metric is one that a trial at a fixed offered rate has: elapsed time and rates would
  be the generator's clock.
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
