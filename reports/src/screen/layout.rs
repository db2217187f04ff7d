//! Columns as wide as their contents, lines no longer than the screen.

use super::{Colour, WIDTH};
use crate::shorten::shortened;
use crate::table::{Align, Table, Tone};

/// A table's header line and rows. Wide tables get narrower gaps, then a shortened first column.
pub(super) fn grid(table: &Table, colour: Colour) -> Vec<String> {
    let mut rows: Vec<Vec<(String, Tone)>> = vec![
        table
            .columns
            .iter()
            .map(|column| (column.short.clone(), Tone::Plain))
            .collect(),
    ];
    rows.extend(table.rows.iter().map(|row| {
        row.iter()
            .map(|cell| (cell.text(), cell.tone()))
            .collect::<Vec<_>>()
    }));
    let mut widths: Vec<usize> = (0..table.columns.len())
        .map(|at| rows.iter().map(|row| length(&row[at].0)).max().unwrap_or(0))
        .collect();
    let cells: usize = widths.iter().sum();
    let gaps = table.columns.len().saturating_sub(1);
    let gap = [3, 2, 1]
        .into_iter()
        .find(|gap| cells + gap * gaps <= WIDTH)
        .unwrap_or(1);
    let over = (cells + gap * gaps).saturating_sub(WIDTH);
    if let Some(first) = widths.first_mut() {
        *first -= over.min(first.saturating_sub(8));
    }
    rows.iter()
        .map(|row| {
            let mut line = String::new();
            for (at, (text, tone)) in row.iter().enumerate() {
                let text = shortened(fitting(text, widths[at]), widths[at]);
                let pad = " ".repeat(widths[at].saturating_sub(length(&text)));
                let text = paint(&text, *tone, colour);
                let last = at + 1 == row.len();
                match table.columns[at].align {
                    Align::Left if last => line += &text,
                    Align::Left => line += &format!("{text}{pad}"),
                    Align::Right => line += &format!("{pad}{text}"),
                }
                if !last {
                    line += &" ".repeat(gap);
                }
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// What stands before the first comma of a text that is too wide, where that fits.
fn fitting(text: &str, width: usize) -> &str {
    match text.split_once(", ") {
        Some((first, _)) if length(text) > width && length(first) <= width => first,
        _ => text,
    }
}

/// `text` behind `label`, at most [`WIDTH`] columns; further lines are indented by the label's
/// length. A word longer than a line stands alone on one.
pub(super) fn wrap(label: &str, text: &str) -> Vec<String> {
    let indent = " ".repeat(length(label));
    let mut lines = Vec::new();
    let mut line = label.to_owned();
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && length(&line) + 1 + length(word) > WIDTH {
            let done = std::mem::replace(&mut line, indent.clone());
            lines.push(done.trim_end().to_owned());
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    lines.push(line);
    lines
}

/// `left`, and `right` at the end of a line of `width` columns; two spaces apart at least.
pub(super) fn ends(left: &str, right: &str, width: usize) -> String {
    let space = width.saturating_sub(length(left) + length(right)).max(2);
    format!("{left}{}{right}", " ".repeat(space))
}

/// Characters of `text`; all texts here are one column a character.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

/// `text` in the colour of `tone`.
pub(super) fn paint(text: &str, tone: Tone, colour: Colour) -> String {
    let code = match (colour, tone) {
        (Colour::Never, _) | (_, Tone::Plain) => return text.to_owned(),
        (_, Tone::Good) => "32",
        (_, Tone::Bad) => "31",
        (_, Tone::Open) => "33",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let text = "word ".repeat(30);
        let lines = wrap("LABEL  ", text.trim_end());
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| length(line) <= WIDTH));
        assert!(lines[0].starts_with("LABEL  word word"));
        assert!(lines[1].starts_with("       word"));
    }

    #[test]
    fn colour_only_when_asked() {
        assert_eq!(paint("pass", Tone::Good, Colour::Never), "pass");
        assert_eq!(paint("pass", Tone::Plain, Colour::Ansi), "pass");
        assert_eq!(
            paint("pass", Tone::Good, Colour::Ansi),
            "\u{1b}[32mpass\u{1b}[0m"
        );
    }
}
