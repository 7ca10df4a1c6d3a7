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

/// As [`strategies`], with ways to choose that compile the module.
pub(super) fn strategies_and_choices() -> impl TypedValueParser<Value = StrategyArg> {
    let choices = [
        ("auto", "As auto=always-split"),
        (
            "auto=always-split",
            "The best one that splits, wherever one fits",
        ),
        (
            "auto=balanced",
            "That one, or fused where the split costs more than it brings: compiles with both",
        ),
    ];
    let choice = |(name, help)| PossibleValue::new(name).help(help);
    let named = |strategy: &Strategy| PossibleValue::new(strategy.name()).help(strategy.summary());
    let all = choices
        .map(choice)
        .into_iter()
        .chain(Strategy::ALL.iter().map(named));
    PossibleValuesParser::new(all).map(|name| match name.parse() {
        Ok(strategy) => StrategyArg::Named(strategy),
        Err(_) if name == "auto=balanced" => StrategyArg::Chosen(splitbar::Choice::Balanced),
        Err(_) => StrategyArg::Chosen(splitbar::Choice::AlwaysSplit),
    })
}

pub(super) fn strategies() -> impl TypedValueParser<Value = Choice> {
    let auto = PossibleValue::new("auto").help("The best one that fits");
    let named = |strategy: &Strategy| PossibleValue::new(strategy.name()).help(strategy.summary());
    let all = std::iter::once(auto).chain(Strategy::ALL.iter().map(named));
    PossibleValuesParser::new(all).map(|name| Choice(name.parse().ok()))
}
