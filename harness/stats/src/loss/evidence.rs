//! Counts of the repeats at one load, pooled, with bounds that allow for bursts.

use super::repeat::{Lost, Repeat};
use super::{CONFIDENCE, LIMIT, MAX_DISPERSION, MIN_REPEATS, rule_ok};
use crate::proportion::{Dispersion, lower_bound, upper_bound, upper_bound_within};
use crate::sum::real;

/// A repeat whose counters make sense.
pub(super) struct Counted {
    pub(super) accepted: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) ok: Option<bool>,
    pub(super) lower95: Option<f64>,
}

impl Counted {
    pub(super) fn of(repeat: &Repeat<'_>) -> Option<Self> {
        let accepted = repeat.accepted;
        let (least, most) = match repeat.lost {
            Lost::Unique(unique) => accepted.checked_sub(unique).map(|lost| (lost, lost))?,
            Lost::Between { least, most } => (least, most),
        };
        if accepted == 0 || accepted > repeat.planned || least > most || most > accepted {
            return None;
        }
        let ok = match (rule_ok(accepted, least), rule_ok(accepted, most)) {
            (false, _) => Some(false),
            (true, true) => Some(true),
            (true, false) => None,
        };
        let scatter = Dispersion::of(repeat.blocks).map_or(1.0, |blocks| blocks.ratio().max(1.0));
        let lower95 = lower_bound(real(least) / scatter, real(accepted) / scatter, CONFIDENCE);
        Some(Self {
            accepted,
            least,
            most,
            ok,
            lower95,
        })
    }
}

/// Pooled counts and their bounds.
pub(super) struct Evidence {
    pub(super) accepted: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) dispersion: f64,
    pub(super) heterogeneity_p: Option<f64>,
    pub(super) upper95: Option<f64>,
    pub(super) lower95: Option<f64>,
    pub(super) low_information: bool,
}

impl Evidence {
    pub(super) fn of(repeats: &[Repeat<'_>], counted: &[Counted]) -> Self {
        let total =
            |count: fn(&Counted) -> u64| counted.iter().map(count).fold(0, u64::saturating_add);
        let accepted = total(|repeat| repeat.accepted);
        let least = total(|repeat| repeat.least);
        let most = total(|repeat| repeat.most);
        let by_repeat: Vec<(u64, u64)> = counted.iter().map(|r| (r.most, r.accepted)).collect();
        let by_block: Vec<(u64, u64)> = repeats
            .iter()
            .flat_map(|repeat| repeat.blocks.iter().copied())
            .collect();
        let between = Dispersion::of(&by_repeat);
        let blocks = if repeats.iter().any(|repeat| repeat.blocks.is_empty()) {
            None
        } else {
            Dispersion::of(&by_block)
        };
        let dispersion = [between, blocks]
            .into_iter()
            .flatten()
            .fold(1.0, |largest: f64, scatter| largest.max(scatter.ratio()));
        let n = real(accepted) / dispersion;
        Self {
            accepted,
            least,
            most,
            dispersion,
            heterogeneity_p: between.map(|scatter| scatter.p_beyond(within_repeats(repeats))),
            upper95: upper_bound(real(most) / dispersion, n, CONFIDENCE),
            lower95: lower_bound(real(least) / dispersion, n, CONFIDENCE),
            low_information: counted.len() < MIN_REPEATS
                || dispersion > MAX_DISPERSION
                || between.is_none()
                || blocks.is_none(),
        }
    }

    /// See [`super::Load::packets_needed`].
    pub(super) fn packets_needed(&self) -> Option<f64> {
        let (lost, accepted) = (real(self.most), real(self.accepted));
        let enough = |times: f64| {
            let scale = times / self.dispersion;
            upper_bound_within(lost * scale, accepted * scale, CONFIDENCE, LIMIT)
        };
        let (mut low, mut high) = (1.0, 1_000.0);
        if !enough(high) {
            return None;
        }
        while (high - low) * accepted > 0.5 {
            let middle = f64::midpoint(low, high);
            if enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some((high * accepted).ceil())
    }
}

/// Dispersion of time blocks around the share of their own repeat, at least 1. What bursts do inside
/// every repeat is no sign that repeats differ.
fn within_repeats(repeats: &[Repeat<'_>]) -> f64 {
    let scatters = repeats
        .iter()
        .filter_map(|repeat| Dispersion::of(repeat.blocks));
    let (statistic, freedom) = scatters.fold((0.0, 0.0), |(statistic, freedom), scatter| {
        (statistic + scatter.statistic, freedom + scatter.freedom)
    });
    if freedom > 0.0 {
        f64::max(1.0, statistic / freedom)
    } else {
        1.0
    }
}
