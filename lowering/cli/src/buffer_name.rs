//! The name of a buffer in front of an argument: `SET:BINDING=`, `SET:BINDING:ELEMENT=` or
//! `INDEX=`.

use splitbar::simulate::BufferName;

/// Splits `text` into the name and the rest.
///
/// # Errors
/// A description of the syntax.
pub(super) fn split(text: &str) -> Result<(BufferName, &str), String> {
    let wrong =
        || format!("{text:?} does not start with SET:BINDING=, SET:BINDING:ELEMENT= or INDEX=");
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let (place, rest) = text.split_once('=').ok_or_else(wrong)?;
    let place = match place.split_once(':') {
        None => BufferName::Argument(number(place)?),
        Some((set, rest)) => match rest.split_once(':') {
            None => BufferName::Binding(number(set)?, number(rest)?),
            Some((binding, element)) => {
                BufferName::Element(number(set)?, number(binding)?, number(element)?)
            }
        },
    };
    Ok((place, rest))
}
