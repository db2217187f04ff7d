//! Whole words in bytes that need not be text.

/// Where `text` stands as a whole word in `bytes` from `start` on, in any case of ASCII letters.
pub(super) fn find(bytes: &[u8], text: &str, start: usize) -> Option<usize> {
    let (first, last) = (text.as_bytes().first()?, text.as_bytes().last()?);
    let length = text.len();
    let mut from = start;
    while let Some(window) = bytes.get(from..).filter(|rest| rest.len() >= length) {
        let begins = |byte: &u8| byte.eq_ignore_ascii_case(first);
        let at = from + window[..=window.len() - length].iter().position(begins)?;
        let end = at + length;
        let apart = |inside: u8, outside: Option<&u8>| {
            !joins(inside) || outside.is_none_or(|byte| !joins(*byte))
        };
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        if bytes[at..end].eq_ignore_ascii_case(text.as_bytes())
            && apart(*first, before)
            && apart(*last, bytes.get(end))
        {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// `bytes` with `word` for every `text` in them; `None` when there is none.
pub(super) fn replaced(bytes: &[u8], text: &str, word: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut done = 0;
    while let Some(at) = find(bytes, text, done) {
        out.extend(&bytes[done..at]);
        out.extend(word.as_bytes());
        done = at + text.len();
    }
    if done == 0 {
        return None;
    }
    out.extend(&bytes[done..]);
    Some(out)
}

/// Whether a byte goes on the word that another such byte ends.
const fn joins(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_in_any_case() {
        assert_eq!(find(b"a Tower.", "tower", 0), Some(2));
        assert_eq!(find(b"towers, watchtower, tower", "tower", 0), Some(20));
        assert_eq!(find(b"tower tower", "tower", 1), Some(6));
        assert_eq!(find(b"_tower_", "tower", 0), Some(1));
        assert_eq!(
            find(b"/home/alicex /home/alice/", "/home/alice", 0),
            Some(13)
        );
        assert_eq!(find(b"towe", "tower", 0), None);
        assert_eq!(find(b"", "tower", 0), None);
        assert_eq!(find(b"tower", "tower", 9), None);
    }

    #[test]
    fn all_of_them_are_replaced() {
        assert_eq!(
            replaced(b"tower,tower\n", "tower", "HOST").unwrap(),
            b"HOST,HOST\n"
        );
        assert_eq!(replaced(b"towers", "tower", "HOST"), None);
    }
}
