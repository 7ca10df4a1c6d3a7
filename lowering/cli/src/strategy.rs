//! The strategies as values of the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use splitbar::{Options, Strategy};

/// A strategy, or none: `auto`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice(pub(super) Option<Strategy>);

/// A strategy, or how one is chosen.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum StrategyArg {
    Named(Strategy),
    Chosen(splitbar::Choice),
}

impl StrategyArg {
    /// Asks for it.
    pub(super) fn set(self, options: &mut Options) {
        match self {
            StrategyArg::Named(strategy) => options.strategy = Some(strategy),
            StrategyArg::Chosen(choice) => options.choice = choice,
        }
    }
}

/// As [`strategies`], with ways to choose.
pub(super) fn strategies_and_choices() -> impl TypedValueParser<Value = StrategyArg> {
    let choice =
        |(name, help, _): &(&'static str, &'static str, _)| PossibleValue::new(*name).help(*help);
    let named = |strategy: &Strategy| PossibleValue::new(strategy.name()).help(strategy.summary());
    let all = CHOICES
        .iter()
        .map(choice)
        .chain(Strategy::ALL.iter().map(named));
    PossibleValuesParser::new(all).map(|name| match name.parse() {
        Ok(strategy) => StrategyArg::Named(strategy),
        Err(_) => {
            let chosen = CHOICES.iter().find(|(choice, _, _)| *choice == name);
            StrategyArg::Chosen(chosen.map_or(AUTO, |(_, _, choice)| *choice))
        }
    })
}

/// What `auto` is.
const AUTO: splitbar::Choice = splitbar::Choice::AUTO;

/// The ways to choose, with their help.
const CHOICES: &[(&str, &str, splitbar::Choice)] = &[
    ("auto", "As auto=balanced", AUTO),
    (
        "auto=balanced",
        "The best one that splits, and full barriers where the final code has too narrow a window or fewer workgroups fit at once: compiles once or twice, and again where only some barriers are split",
        splitbar::Choice::Balanced,
    ),
    (
        "auto=fast",
        "The best one that splits, and full barriers where the window in SPIR-V is too narrow: compiles once",
        splitbar::Choice::Fast,
    ),
    (
        "auto=always-split",
        "The best one that splits, wherever one fits",
        splitbar::Choice::AlwaysSplit,
    ),
];

pub(super) fn strategies() -> impl TypedValueParser<Value = Choice> {
    let auto = PossibleValue::new("auto").help("The best one that fits");
    let named = |strategy: &Strategy| PossibleValue::new(strategy.name()).help(strategy.summary());
    let all = std::iter::once(auto).chain(Strategy::ALL.iter().map(named));
    PossibleValuesParser::new(all).map(|name| Choice(name.parse().ok()))
}
