//! Long names and long lists of names, cut so that they still tell cases apart.

/// Start and end of a text that is longer than `width` characters, with two dots between. A width
/// under four is not kept.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    let all = text.chars().count();
    if all <= width || width < 4 {
        return text.to_owned();
    }
    let head = (width - 2) / 2;
    let tail = width - 2 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(all - tail).collect();
    format!("{start}..{end}")
}

/// The first names that fit 40 characters, at most three and at least one, then how many more.
pub(crate) fn listed(names: &[&str]) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut used = 0;
    for name in names.iter().take(3) {
        let name = shortened(name, 40);
        used += name.chars().count() + 2;
        if used > 42 && !kept.is_empty() {
            break;
        }
        kept.push(name);
    }
    let more = names.len() - kept.len();
    let list = kept.join(", ");
    if more > 0 {
        format!("{list} and {more} more")
    } else {
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("abcdefghij", 8), "abc..hij");
        assert_eq!(shortened("abcdefgh", 8), "abcdefgh");
    }

    #[test]
    fn lists_count_what_they_leave_out() {
        assert_eq!(listed(&["a", "b", "c"]), "a, b, c");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
        let long = "a-name-of-thirty-five-characters-xx";
        assert_eq!(listed(&[long, long]), format!("{long} and 1 more"));
    }
}
