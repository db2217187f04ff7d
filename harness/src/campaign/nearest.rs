//! The known key that a wrong one was probably meant to be.

/// The known path nearest to `wrong`, or `None` when nothing is near: few letters differ, the last
/// part is right and stands in another table, or the path was begun and not finished.
pub(super) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wrong = wrong.to_lowercase().replace('_', "-");
    let limit = (wrong.chars().count() / 4).max(2);
    known
        .into_iter()
        .filter_map(|path| {
            // Unfinished is likelier than misspelt: `rate` is `rate-pps` and not `batch`.
            if path.starts_with(&wrong) {
                return Some((0, path));
            }
            let letters = distance(&wrong, path);
            (letters <= limit || leaf(&wrong) == leaf(path)).then_some((letters, path))
        })
        .min_by_key(|(letters, _)| *letters)
        .map(|(_, path)| path)
}

fn leaf(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, leaf)| leaf)
}

/// Levenshtein's distance: letters inserted, removed or replaced.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 6] = [
        "design.pairs",
        "traffic.batch",
        "traffic.rate-pps",
        "traffic.duration",
        "receiver.timeout",
        "receiver.buffer-size",
    ];

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }

    #[test]
    fn slips_of_people() {
        for (wrong, meant) in [
            ("traffic.rate_pps", "traffic.rate-pps"),
            ("traffic.rate", "traffic.rate-pps"),
            ("pairs", "design.pairs"),
            ("recever.timeout", "receiver.timeout"),
            ("receiver.buffer", "receiver.buffer-size"),
            ("Traffic.Duration", "traffic.duration"),
        ] {
            assert_eq!(nearest(wrong, KNOWN), Some(meant), "{wrong}");
        }
        assert_eq!(nearest("program.binary", KNOWN), None);
    }
}
