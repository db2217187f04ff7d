//! Which placeholders stand for something in which workload.

use wiretrial_contract::plan::Workload;
use wiretrial_contract::program::{Placeholder, expand};

/// The placeholders of a workload.
#[must_use]
pub const fn of(workload: Workload) -> &'static [Placeholder] {
    match workload {
        Workload::Live => &[
            Placeholder::Binary,
            Placeholder::Interface,
            Placeholder::Port,
            Placeholder::Filter,
            Placeholder::Work,
            Placeholder::Packets,
        ],
        Workload::File => &[
            Placeholder::Binary,
            Placeholder::File,
            Placeholder::Work,
            Placeholder::Packets,
        ],
        Workload::Command => &[Placeholder::Binary, Placeholder::Work],
    }
}

/// The sentence about a placeholder that there is not, in `workload` or anywhere.
pub(super) fn check(text: &str, workload: Option<Workload>) -> Result<(), String> {
    expand(text, |placeholder| {
        let Some(workload) = workload else {
            return Ok(String::new());
        };
        let known = of(workload);
        if known.contains(&placeholder) {
            return Ok(String::new());
        }
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        Err(format!(
            "{placeholder} stands for nothing in a {} workload; there are {}",
            workload.name(),
            known.join(" ")
        ))
    })
    .map(|_| ())
}

/// Whether a text holds a placeholder.
pub(super) fn holds(text: &str, wanted: Placeholder) -> bool {
    let mut found = false;
    let read = expand(text, |placeholder| {
        found |= placeholder == wanted;
        Ok(String::new())
    });
    read.is_ok() && found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_belongs_to_a_workload() {
        assert_eq!(check("{file}", None), Ok(()));
        assert_eq!(check("{file}", Some(Workload::File)), Ok(()));
        assert_eq!(
            check("-r {file}", Some(Workload::Live)).unwrap_err(),
            "{file} stands for nothing in a live workload; \
             there are {binary} {interface} {port} {filter} {work} {packets}"
        );
        assert!(check("{files}", None).unwrap_err().contains("unknown"));
    }

    #[test]
    fn a_doubled_brace_is_no_placeholder() {
        assert!(holds("{binary}", Placeholder::Binary));
        assert!(!holds("{{binary}}", Placeholder::Binary));
        assert!(!holds("{binary", Placeholder::Binary));
    }
}
