//! The notation of option values.

/// Values with names, each with what it means.
pub(crate) type Named<T> = [(&'static str, T, &'static str)];

/// Puts the value in its place.
pub(crate) fn put<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

/// The names of `values`, each with what it means.
pub(crate) fn names<T>(values: &Named<T>) -> Vec<(&'static str, &'static str)> {
    values
        .iter()
        .map(|(name, _, help)| (*name, *help))
        .collect()
}

/// The value whose name is `given`.
pub(crate) fn one_of<T: Clone>(values: &Named<T>, given: &str) -> Result<T, String> {
    let found = values.iter().find(|(name, _, _)| *name == given);
    found.map(|(_, value, _)| value.clone()).ok_or_else(|| {
        let names: Vec<&str> = values.iter().map(|(name, _, _)| *name).collect();
        format!("{given:?} is not one of {}", names.join(", "))
    })
}

pub(crate) fn flag(value: &str) -> Result<bool, String> {
    one_of(&[("true", true, ""), ("false", false, "")], value)
}

pub(crate) fn number(value: &str) -> Result<Option<u32>, String> {
    let number = value.parse().map(Some);
    number.map_err(|_| format!("{value:?} is not a number"))
}

/// Reads three sizes: `64,1,1`.
///
/// # Errors
/// How they are written.
pub fn parse_size(value: &str) -> Result<[u32; 3], String> {
    let numbers = value.split(',').map(|number| number.trim().parse().ok());
    let numbers: Option<Vec<u32>> = numbers.map(|n| n.filter(|n| *n > 0)).collect();
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| format!("{value:?} is not X,Y,Z, three numbers from 1"))
}
