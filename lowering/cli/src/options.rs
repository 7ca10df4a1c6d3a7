//! Options of the library as flags of the commands: each command says which of them it takes.

#[cfg(test)]
mod page;

use clap::builder::{PossibleValue, PossibleValuesParser, ValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use splitbar::spec::{Setting, resolve_for};
use splitbar::{DeclaredOptions, OptionInfo, SpecValues, ValueForm};

/// A command with options of the library.
pub(super) trait Takes: Clone + std::fmt::Debug + 'static {
    /// The options that it fills.
    type Options: DeclaredOptions;

    /// Returns true if the command has a flag for `option`.
    fn takes(option: &OptionInfo<Self::Options>) -> bool;

    /// Returns true if it takes `value` for `option`, one of its values.
    fn offers(_option: &OptionInfo<Self::Options>, _value: &str) -> bool {
        true
    }

    /// The flag, made to fit to others of the command.
    fn flag(arg: Arg) -> Arg {
        arg
    }
}

/// The options that were given to a command, in the order of their declaration.
#[derive(Clone, Debug)]
pub(super) struct OptionArgs<C: Takes> {
    given: Vec<(&'static OptionInfo<C::Options>, String)>,
}

impl<C: Takes> OptionArgs<C> {
    /// Puts what was given into `options`.
    ///
    /// # Errors
    /// A value that is not right. The parser of the command line has refused those.
    pub(super) fn set(&self, options: &mut C::Options) -> Result<(), String> {
        let mut given = self.given.iter();
        given.try_for_each(|(option, value)| option.set(options, value))
    }

    /// The flags that were given.
    pub(super) fn given(&self) -> impl Iterator<Item = String> {
        self.given.iter().map(|(option, _)| match option.letter() {
            Some(letter) => format!("-{letter}"),
            None => format!("--{}", option.name),
        })
    }

    fn taken() -> impl Iterator<Item = &'static OptionInfo<C::Options>> {
        C::Options::declared().filter(|option| C::takes(option))
    }
}

/// The flag of `option`.
fn arg<C: Takes>(option: &'static OptionInfo<C::Options>) -> Arg {
    let arg = Arg::new(option.name)
        .help(option.summary)
        .help_heading(option.heading.name())
        .aliases(option.aliases)
        .conflicts_with_all(option.excluded_by);
    let arg = match option.letter() {
        Some(letter) => arg.short(letter),
        None => arg.long(option.name),
    };
    let arg = if option.details.is_empty() {
        arg
    } else {
        arg.long_help(format!("{}\n\n{}", option.summary, option.details))
    };
    let text = || -> ValueParser {
        ValueParser::new(move |value: &str| -> Result<String, String> {
            C::Options::check(option, value).map(|()| value.to_owned())
        })
    };
    let arg = match option.value {
        ValueForm::OneOf(name, values) => {
            let values = values().into_iter();
            let values = values.filter(|(value, _)| C::offers(option, value));
            let shown = values.map(|(value, help)| match help {
                "" => PossibleValue::new(value),
                help => PossibleValue::new(value).help(help),
            });
            arg.value_name(name)
                .value_parser(PossibleValuesParser::new(shown))
        }
        ValueForm::Text(name) => arg.value_name(name).value_parser(text()),
        ValueForm::Optional { name, missing } => arg
            .value_name(name)
            .value_parser(text())
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(missing),
        ValueForm::File => arg
            .value_name("FILE")
            .value_parser(text())
            .value_hint(ValueHint::FilePath),
        _ => arg.action(ArgAction::SetTrue), // Flag
    };
    let arg = match option.default {
        Some(value) => arg.default_value(value),
        None => arg,
    };
    C::flag(arg)
}

impl<C: Takes> Args for OptionArgs<C> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::taken().map(arg::<C>))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Takes> FromArgMatches for OptionArgs<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Vec::new();
        for option in Self::taken() {
            let name = option.name;
            if matches.value_source(name) != Some(ValueSource::CommandLine) {
                continue;
            }
            let value = match option.value {
                ValueForm::Flag => Some("true".to_owned()),
                _ => matches.get_one(name).cloned(),
            };
            // The parser has given every option that takes a value one.
            let missing = || clap::Error::raw(ErrorKind::InvalidValue, name);
            given.push((option, value.ok_or_else(missing)?));
        }
        Ok(OptionArgs { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Values of specialization constants, the same for all commands that read a module.
#[derive(Clone, Debug, Args)]
pub(super) struct SpecArgs {
    /// A specialization constant: an integer, 0x..., a float, true or false
    #[arg(long, value_name = "ID=VALUE", value_parser = str::parse::<Setting>, allow_hyphen_values = true)]
    pub(super) spec: Vec<Setting>,
}

impl SpecArgs {
    /// The values for the module in `bytes`.
    ///
    /// # Errors
    /// Constants that it does not have, and values that are none of theirs.
    pub(super) fn resolve(
        &self,
        bytes: &[u8],
    ) -> Result<SpecValues, splitbar::diagnostic::Diagnostics> {
        resolve_for(bytes, &self.spec)
    }
}
