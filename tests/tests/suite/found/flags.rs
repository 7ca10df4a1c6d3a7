//! Options as names and values that [`Options::set`] takes.

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};
use splitbar::{DeclaredOptions as _, OptionInfo, Options, ValueForm};

/// Values of options that are written as text, as far as the generators use them.
const TEXTS: &[&str] = &["8", "96", "512", "1,1,1", "universal", "descriptor-sets"];

/// The names and values that turn the defaults of the target into `options`, in the order in which
/// they are set.
pub(super) fn of(options: &Options) -> Result<Vec<(&'static str, String)>> {
    let wanted = fields(options)?;
    let mut made = Options::new(options.target);
    let mut flags = Vec::new();
    for option in Options::declared() {
        for value in values(option) {
            let mut candidate = made.clone();
            let is_taken = option.set(&mut candidate, &value).is_ok();
            if is_taken
                && differences(&fields(&candidate)?, &wanted)
                    < differences(&fields(&made)?, &wanted)
            {
                made = candidate;
                flags.push((option.name, value));
            }
        }
    }
    ensure!(
        fields(&made)? == wanted,
        "the options have no flags: {flags:?} of {wanted:?}"
    );
    Ok(flags)
}

fn values(option: &OptionInfo<Options>) -> Vec<String> {
    match option.value {
        ValueForm::Flag => vec!["true".to_owned()],
        ValueForm::OneOf(_, names) => names().iter().map(|row| row.0.to_owned()).collect(),
        ValueForm::Text(_) | ValueForm::Optional { .. } => {
            TEXTS.iter().map(|&text| text.to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// The fields by name.
fn fields(options: &Options) -> Result<Map<String, Value>> {
    let value = serde_json::to_value(options)?;
    Ok(value.as_object().context("options are fields")?.clone())
}

/// The number of fields that differ.
fn differences(one: &Map<String, Value>, other: &Map<String, Value>) -> usize {
    let is_other = |field: &(&String, &Value)| other.get(field.0) != Some(field.1);
    one.iter().filter(is_other).count()
}
