//! What launches cost in a simulated campaign.

use wiretrial_stats::random::Stream;

/// Draws of several shapes from one stream.
#[derive(Debug)]
pub(crate) struct Noise(pub(crate) Stream);

impl Noise {
    /// In 0..1, never either end.
    pub(crate) fn uniform(&mut self) -> f64 {
        let top = u32::try_from(self.0.below(1 << 32)).expect("a draw below 2^32 fits");
        (f64::from(top) + 0.5) / 4_294_967_296.0
    }

    /// Standard normal (Box and Muller, 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with 3 degrees of freedom.
    fn heavy(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 3.0).sqrt()
    }
}

/// The shape of the cost of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Normal, deviation 5 %.
    Normal,
    /// The exponential of a normal of this deviation.
    Lognormal(f64),
    /// Student's t with 3 degrees of freedom, scaled to 1 %.
    Heavy,
    /// Normal of 1 %, and one launch in twenty stalls: exponential, half of the cost on average.
    Stalls,
    /// A floor plus 2 % of a Pareto variable with exponent 2.2: its variance is finite, and little more.
    Pareto,
    /// Normal of 1 %, and one candidate launch in ten costs 30 % more.
    RareMode,
}

impl Shape {
    /// As the table calls it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Normal => "normal".into(),
            Self::Lognormal(deviation) => format!("lognormal {deviation}"),
            Self::Heavy => "t3".into(),
            Self::Stalls => "5 % stalls".into(),
            Self::Pareto => "Pareto 2.2".into(),
            Self::RareMode => "rare mode".into(),
        }
    }

    /// The ratio of mean costs.
    pub(crate) fn truth(self) -> f64 {
        if matches!(self, Self::RareMode) {
            1.03
        } else {
            1.0
        }
    }

    /// The costs of `pairs` pairs: baseline, candidate.
    pub(crate) fn arms(self, pairs: usize, noise: &mut Noise) -> (Vec<f64>, Vec<f64>) {
        let mut cost = || match self {
            Self::Normal => 1.0 + 0.05 * noise.normal(),
            Self::Lognormal(deviation) => (deviation * noise.normal()).exp(),
            Self::Heavy => 1.0 + 0.01 * noise.heavy(),
            Self::Stalls => {
                let stalled = noise.uniform() < 0.05;
                let stall = if stalled {
                    -0.5 * noise.uniform().ln()
                } else {
                    0.0
                };
                (1.0 + stall) * (1.0 + 0.01 * noise.normal())
            }
            Self::Pareto => 1.0 + 0.02 * noise.uniform().powf(-1.0 / 2.2),
            Self::RareMode => 1.0 + 0.01 * noise.normal(),
        };
        let (baseline, mut candidate): (Vec<f64>, Vec<f64>) =
            (0..pairs).map(|_| (cost(), cost())).unzip();
        if matches!(self, Self::RareMode) {
            for value in &mut candidate {
                *value *= if noise.uniform() < 0.1 { 1.3 } else { 1.0 };
            }
        }
        (baseline, candidate)
    }
}
