//! The question that `compare` asks: which campaign answers it, and what its arms are.
//!
//! A repository says how its program is built and run in `.wiretrial.toml`; an adapter, a campaign
//! file or two command lines on the command line take its place. Both revisions are built before
//! anything is measured, and what is built is all that differs.

use std::fs;
use std::path::{Path, PathBuf};

use wiretrial_contract::clock;
use wiretrial_contract::failure::Failure;
use wiretrial_contract::metric::Scale;
use wiretrial_contract::plan::{Campaign, Kind};

use crate::cache;
use crate::campaign::file::Resolved;
use crate::campaign::overrides::Overrides;
use crate::campaign::{file, keys, shipped};
use crate::evidence::folder::{RAW, discard_logs};
use crate::host::Interrupt;
use crate::revision::{self, Built, Ci, Pair, Recipe, Side};
use crate::root::{self, ROOT};
use crate::session::{Question, inputs};

/// What a repository says of itself.
pub const OWN_FILE: &str = ".wiretrial.toml";
/// The name that a campaign in it has when it gives itself none.
const UNNAMED: &str = "wiretrial";
/// The margin where none is declared.
const MARGIN: &str = "3%";

/// What is asked.
#[derive(Debug)]
pub struct Ask<'a> {
    /// BASE and CAND, as typed.
    pub sides: [Option<&'a str>; 2],
    /// How the sides are run.
    pub how: How<'a>,
    /// The capture file that both read, as typed.
    pub file: Option<&'a str>,
    /// What the command line sets over the campaign.
    pub overrides: Overrides,
}

/// How the sides of a comparison are run.
#[derive(Debug, Clone, Copy)]
pub enum How<'a> {
    /// As the repository says, or as this project's receiver.
    Unsaid,
    /// By an adapter: its name or its file.
    Program(&'a str),
    /// By a campaign: its name or its file.
    Campaign(&'a str),
    /// As two command lines.
    Commands([&'a str; 2]),
}

/// Works out the question, building what it needs. `say` is told what happens meanwhile.
///
/// # Errors
///
/// The command line, a file or a revision is wrong (exit 2), a build fails (exit 3), or a signal
/// came.
pub fn question(
    ask: &Ask<'_>,
    interrupt: &Interrupt,
    say: &dyn Fn(&str),
) -> Result<Question, Failure> {
    if let How::Commands(commands) = ask.how {
        return of_commands(commands, &ask.overrides);
    }
    let pair = sides(ask, interrupt)?;
    for note in &pair.notes {
        say(note);
    }
    let mut resolved = resolved(ask, &pair)?;
    inputs::check(&resolved.campaign, &resolved.inputs)?;
    name(&mut resolved.campaign, &pair);
    let recipe = recipe(&resolved.campaign, &pair)?;
    let logs = logs_folder(&resolved.campaign.name);
    say(&format!(
        "baseline {}, candidate {}",
        described(&pair.baseline),
        described(&pair.candidate)
    ));
    let built = build(&pair, &recipe, &logs, interrupt)?;
    Ok(Question {
        campaign: resolved.campaign,
        files: resolved.inputs,
        given: Some(built),
        logs: Some(logs),
    })
}

/// Both sides; for an A/A campaign the candidate twice.
fn sides(ask: &Ask<'_>, interrupt: &Interrupt) -> Result<Pair, Failure> {
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::host(format!("cannot find this folder: {error}")))?;
    let [mut base, mut candidate] = ask.sides;
    if ask.overrides.aa {
        candidate = candidate.or(base).or(Some("."));
        base = candidate;
    }
    let pair = revision::resolve(&cwd, base, candidate, &Ci::from_environment(), interrupt)?;
    if !ask.overrides.aa {
        pair.check_distinct()?;
    }
    Ok(pair)
}

/// Gives a campaign that does not say so itself the name and the question of a comparison: other
/// revisions are another question, not another attempt at the same.
fn name(campaign: &mut Campaign, pair: &Pair) {
    if campaign.name == UNNAMED {
        campaign.name = "compare".into();
    }
    if campaign.question == keys::QUESTION {
        campaign.question = question_of(pair);
    }
}

fn question_of(pair: &Pair) -> String {
    format!(
        "Is {} better than {}?",
        described(&pair.candidate),
        described(&pair.baseline)
    )
}

fn described(side: &Side) -> String {
    match side {
        Side::Revision(revision) => format!("{} ({})", revision.short(), revision.described),
        Side::Executable(path) => path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned(),
    }
}

/// The campaign with the margin that a comparison has at least.
fn resolved(ask: &Ask<'_>, pair: &Pair) -> Result<Resolved, Failure> {
    let mut overrides = ask.overrides.clone();
    if let Some(file) = ask.file {
        let set = [
            "workload.kind=file".into(),
            format!("workload.file={}", absolute(file)),
        ];
        overrides.set.splice(0..0, set);
    }
    let source = source(ask, pair)?;
    let resolved = source.resolve(&overrides)?;
    if resolved.campaign.kind != Kind::Paired {
        return Err(Failure::usage(format!(
            "kind is {}; compare has two sides, so its campaign is a paired one",
            resolved.campaign.kind.name()
        )));
    }
    let design = &resolved.campaign.design;
    // In the unit of a difference nobody else can say what is worth having.
    if design.margin.is_some() || design.primary.scale() == Scale::Difference {
        return Ok(resolved);
    }
    overrides.set.insert(0, format!("design.margin={MARGIN}"));
    source.resolve(&overrides)
}

/// A path as seen from anywhere; the name of a standard input stays as it is.
fn absolute(file: &str) -> String {
    match std::path::absolute(file) {
        Ok(path) if path.exists() => path.to_string_lossy().into_owned(),
        _ => file.to_owned(),
    }
}

/// Where a campaign is read from.
enum Source {
    /// A file, or the name of a shipped campaign.
    File(String),
    /// A text of our own.
    Text(String),
    /// What a repository says, and the loads that it does not name.
    Own { file: PathBuf, text: String },
}

impl Source {
    fn resolve(&self, overrides: &Overrides) -> Result<Resolved, Failure> {
        match self {
            Self::File(file) => shipped::resolve(file, overrides),
            Self::Text(text) => file::resolve("compare", text, Path::new(""), overrides),
            Self::Own { file, text } => {
                let folder = file.parent().unwrap_or(Path::new(""));
                file::resolve(&file.to_string_lossy(), text, folder, overrides)
            }
        }
    }
}

fn source(ask: &Ask<'_>, pair: &Pair) -> Result<Source, Failure> {
    let text = |rest: &str| Source::Text(format!("{}{rest}", head(pair)));
    let sets = |key: &str| {
        let mut set = ask.overrides.set.iter();
        set.any(|set| set.split('=').next().is_some_and(|path| path.trim() == key))
    };
    let needs_none = ask.file.is_some() || sets("traffic.rate-pps") || sets("workload.kind");
    let loads = if needs_none { "" } else { LIVE };
    match ask.how {
        How::Campaign(file) => return Ok(Source::File(file.to_owned())),
        How::Program(adapter) => {
            let adapter = toml::Value::from(adapter);
            return Ok(text(&format!("program.adapter = {adapter}\n{loads}")));
        }
        How::Unsaid | How::Commands(_) => {}
    }
    let top = pair.repository.as_ref().map_or(Path::new(""), |r| r.top());
    let own_file = top.join(OWN_FILE);
    if own_file.is_file() {
        if let Ok(text) = fs::read_to_string(&own_file)
            && names_no_load(&text)
        {
            let text = format!("{text}\n{loads}");
            return Ok(Source::Own {
                file: own_file,
                text,
            });
        }
        let file = own_file.to_string_lossy();
        // Without a `/` it would be taken for a name.
        let here = if file.contains('/') { "" } else { "./" };
        return Ok(Source::File(format!("{here}{file}")));
    }
    if is_ours(pair) {
        return Ok(text(loads));
    }
    Err(Failure::usage(format!(
        "nothing says how the program is built and run: write {OWN_FILE} (wiretrial new program), or \
         give --program FILE, --campaign FILE or --command A B"
    )))
}

/// Whether both sides are receivers of this project.
fn is_ours(pair: &Pair) -> bool {
    let own = pair.repository.as_ref().is_some_and(|r| r.is_own());
    [&pair.baseline, &pair.candidate]
        .iter()
        .all(|side| match side {
            Side::Revision(_) => own,
            Side::Executable(path) => path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("wiretrial-receiver")),
        })
}

/// The keys of every campaign of our own.
fn head(pair: &Pair) -> String {
    let question = question_of(pair);
    format!(
        "schema = 1\nname = \"compare\"\nkind = \"paired\"\nquestion = {}\ndesign.margin = \
         \"{MARGIN}\"\n",
        toml::Value::from(question)
    )
}

/// The loads of a comparison whose campaign names none.
const LIVE: &str = "\
[[case]]
name = \"20k\"
traffic.rate-pps = 20000
[[case]]
name = \"50k\"
traffic.rate-pps = 50000
";

/// Whether a campaign is live and says nowhere how much is sent. A text that is no TOML is left to the
/// reader of campaigns.
fn names_no_load(text: &str) -> bool {
    let Ok(campaign) = text.parse::<toml::Table>() else {
        return false;
    };
    let value = |table: &str, key: &str| campaign.get(table)?.get(key)?.as_str();
    let live = value("workload", "kind").is_none_or(|kind| kind == "live");
    let rate = campaign
        .get("traffic")
        .and_then(|traffic| traffic.get("rate-pps"));
    live && rate.is_none() && !campaign.contains_key("case") && !campaign.contains_key("sweep")
}

/// How revisions are built: both arms in the same way.
fn recipe(campaign: &Campaign, pair: &Pair) -> Result<Recipe, Failure> {
    let last = campaign.arms.len().saturating_sub(1);
    let Some(program) = campaign.cases.first().and_then(|case| case.outside(last)) else {
        let mut recipe = revision::own_recipe();
        if campaign.is_diagnostic() {
            recipe.binary += "-heap";
        }
        return Ok(recipe);
    };
    let revisions = [&pair.baseline, &pair.candidate]
        .iter()
        .any(|side| side.revision().is_some());
    if revisions && program.build.is_empty() && !program.binary.contains('/') {
        let top = pair
            .repository
            .as_ref()
            .map(|r| r.top().join(&program.binary));
        if !top.is_some_and(|binary| binary.is_file()) {
            return Err(Failure::usage(format!(
                "program.binary is {} and nothing says how it is built; set program.build and \
                 program.binary in {OWN_FILE}, or compare two executables by their paths",
                program.binary
            )));
        }
    }
    Ok(Recipe {
        steps: program.build.clone(),
        binary: program.binary.clone(),
        env: program.env.clone(),
    })
}

/// Where the logs of building lie until the evidence takes them, and stay when building fails.
fn logs_folder(name: &str) -> PathBuf {
    let time = clock::folder_time(clock::realtime_ns());
    Path::new(ROOT)
        .join(name)
        .join(format!("{time}-{}-build", std::process::id()))
        .join(RAW)
}

fn build(
    pair: &Pair,
    recipe: &Recipe,
    logs: &Path,
    interrupt: &Interrupt,
) -> Result<[Built; 2], Failure> {
    let root = Path::new(ROOT);
    let cache = cache::writable(root)?;
    root::make(root)
        .and_then(|()| fs::create_dir_all(logs))
        .map_err(|error| Failure::host(format!("cannot make {}: {error}", logs.display())))?;
    let built = revision::build(pair, recipe, logs, &cache, interrupt);
    if !matches!(&built, Err(failure) if failure.code == wiretrial_contract::exit::HOST)
        && built.is_err()
    {
        // Nothing was built: there is nothing to read.
        discard_logs(logs);
    }
    built
}

/// A campaign of two command lines.
fn of_commands(commands: [&str; 2], overrides: &Overrides) -> Result<Question, Failure> {
    let mut text = format!(
        "schema = 1\nname = \"command\"\nkind = \"paired\"\nquestion = {}\ndesign.margin = \
         \"{MARGIN}\"\nworkload.kind = \"command\"\n",
        toml::Value::from(format!(
            "Is `{}` better than `{}`?",
            commands[1], commands[0]
        ))
    );
    for (arm, command) in ["baseline", "candidate"].iter().zip(commands) {
        let words = words(command)?;
        let arguments: Vec<String> = std::iter::once("{binary}".to_owned())
            .chain(
                words[1..]
                    .iter()
                    .map(|word| word.replace('{', "{{").replace('}', "}}")),
            )
            .collect();
        text += &format!(
            "[arm.{arm}.program]\nbinary = {}\ncommand = {}\ncwd = \".\"\n",
            toml::Value::from(words[0].as_str()),
            toml::Value::from(arguments)
        );
    }
    let resolved = file::resolve("--command", &text, Path::new(""), overrides)?;
    Ok(Question {
        campaign: resolved.campaign,
        files: resolved.inputs,
        given: None,
        logs: None,
    })
}

/// A command line as words, quoted as in a shell; no shell runs it.
fn words(command: &str) -> Result<Vec<String>, Failure> {
    if let Some(sign) = shell_sign(command) {
        return Err(Failure::usage(format!(
            "--command '{command}': no shell reads the {sign}; quote it, or run one: sh -c '...'"
        )));
    }
    let words = shell_words::split(command).map_err(|error| {
        Failure::usage(format!("--command '{command}': {error}; close the quotes"))
    })?;
    if words.is_empty() {
        return Err(Failure::usage(
            "--command has an empty command line; write two, such as --command 'grep a f' 'grep b f'",
        ));
    }
    Ok(words)
}

/// The first sign that a shell would act on where it stands (POSIX.1-2017, Shell Command Language,
/// 2.2 Quoting).
fn shell_sign(command: &str) -> Option<char> {
    let mut quote = None;
    let mut signs = command.chars();
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => {
                signs.next();
            }
            (None, '\'' | '"') => quote = Some(sign),
            (_, '$' | '`') | (None, '|' | '&' | ';' | '<' | '>' | '*' | '?' | '(' | ')') => {
                return Some(sign);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_campaign_that_says_how_much_is_sent_gets_no_loads() {
        assert!(names_no_load(
            "schema = 1\nworkload.kind = \"live\"\n[program]\nbinary = \"p\"\n"
        ));
        assert!(names_no_load("traffic.duration = \"2s\"\n"));
        for said in [
            "traffic.rate-pps = 1000\n",
            "workload.kind = \"file\"\n",
            "[[case]]\nname = \"x\"\n",
            "[sweep]\ntraffic.rate-pps = [1, 2]\n",
            "no toml",
        ] {
            assert!(!names_no_load(said), "{said}");
        }
    }

    #[test]
    fn command_lines_are_split_as_in_a_shell_and_no_shell_runs_them() {
        assert_eq!(words("wc -l 'a b'").unwrap(), ["wc", "-l", "a b"]);
        assert_eq!(words("sh -c 'a | b'").unwrap(), ["sh", "-c", "a | b"]);
        assert_eq!(words("echo a\\|b \"c;d\"").unwrap(), ["echo", "a|b", "c;d"]);
        for (line, said) in [
            ("cat a | wc", "no shell reads the |"),
            ("cat 'a b' | wc", "no shell reads the |"),
            ("echo \"$HOME\"", "no shell reads the $"),
            ("echo 'x", "close the quotes"),
            ("  ", "empty command line"),
        ] {
            let failure = words(line).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(failure.message.contains(said), "{failure}");
        }
    }
}
