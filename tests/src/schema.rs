//! JSON put to the schemas of docs/schemas: the keywords of JSON Schema 2020-12 that those use.
//!
//! Stricter than the standard in one point: a key that the schema does not list is an error, so
//! that what the program writes and what the schema says are the same.

use crate::fixture;
use anyhow::{Context, Result, bail, ensure};
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Levels of values in values, and of references to references.
const MOST_DEPTH: u32 = 64;

/// The schemas of a folder, by their file names.
pub struct Schemas(BTreeMap<String, Value>);

/// A place in a schema: its file, and the schema there.
#[derive(Copy, Clone)]
struct Place<'s> {
    file: &'s str,
    schema: &'s Value,
}

impl Schemas {
    /// Reads the schemas of docs/schemas.
    ///
    /// # Errors
    /// A file cannot be read, or is not JSON.
    pub fn read() -> Result<Schemas> {
        let folder = fixture::root().join("docs/schemas");
        let mut schemas = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).context("docs/schemas")? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.context("a schema without a name")?.to_owned();
            let text = std::fs::read_to_string(&path)?;
            let schema = serde_json::from_str(&text).with_context(|| name.clone())?;
            schemas.insert(name, schema);
        }
        Ok(Schemas(schemas))
    }

    /// Checks `value` against the schema in the file `name`.
    ///
    /// # Errors
    /// The first place of `value` that does not fit and why, or a keyword that is not known here.
    pub fn check(&self, name: &str, value: &Value) -> Result<()> {
        let (file, schema) = self.0.get_key_value(name).context("no such schema")?;
        self.fits(Place { file, schema }, value, MOST_DEPTH)
    }

    fn fits(&self, at: Place<'_>, value: &Value, depth: u32) -> Result<()> {
        let depth = depth.checked_sub(1).context("nested too deeply")?;
        let Place { file, schema } = at;
        let schema = schema.as_object().context("a schema that is no object")?;
        for (keyword, says) in schema {
            let of = |schema| Place { file, schema };
            match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" => {}
                "$ref" => self.fits(self.referred(file, says)?, value, depth)?,
                "type" => ensure!(
                    any(says, |name| is(name, value)),
                    "{value} is not of type {says}"
                ),
                "const" => ensure!(says == value, "{value} is not {says}"),
                "enum" => ensure!(any(says, |one| one == value), "{value} is none of {says}"),
                // These four are about numbers and lists, and say nothing of other values.
                "minimum" => ensure!(
                    !value.is_number() || value.as_f64() >= says.as_f64(),
                    "{value} is less than {says}"
                ),
                "maximum" => ensure!(
                    !value.is_number() || value.as_f64() <= says.as_f64(),
                    "{value} is more than {says}"
                ),
                "minItems" => ensure!(
                    length(value).is_none_or(|length| Some(length) >= says.as_u64()),
                    "too few: {value}"
                ),
                "maxItems" => ensure!(
                    length(value).is_none_or(|length| Some(length) <= says.as_u64()),
                    "too many: {value}"
                ),
                "pattern" => {
                    let pattern = Regex::new(says.as_str().context("no pattern")?)?;
                    ensure!(
                        value.as_str().is_none_or(|text| pattern.is_match(text)),
                        "{value} does not match {says}"
                    );
                }
                "anyOf" => {
                    let ways = says.as_array().context("anyOf is no list")?;
                    let tried: Vec<String> = ways
                        .iter()
                        .map_while(|way| self.fits(of(way), value, depth).err())
                        .map(|error| format!("{error:#}"))
                        .collect();
                    ensure!(tried.len() < ways.len(), "{}", tried.join("; and "));
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.fits(of(says), item, depth)
                            .with_context(|| index.to_string())?;
                    }
                }
                "required" => {
                    let has = |key: &Value| value.get(key.as_str().unwrap_or_default()).is_some();
                    let missing = says
                        .as_array()
                        .and_then(|keys| keys.iter().find(|k| !has(k)));
                    ensure!(missing.is_none(), "no key {}", missing.unwrap_or(says));
                }
                "properties" => {
                    let properties = says.as_object().context("properties are no object")?;
                    for (key, part) in value.as_object().unwrap_or(&Map::new()) {
                        let own = properties.get(key);
                        let own = own.with_context(|| format!("the key {key} is not listed"))?;
                        self.fits(of(own), part, depth)
                            .with_context(|| key.clone())?;
                    }
                }
                other => bail!("the keyword {other} is not known"),
            }
        }
        Ok(())
    }

    /// The schema that `FILE#/$defs/NAME` leads to: without FILE in the same one, without # a whole
    /// file.
    fn referred<'s>(&'s self, file: &'s str, says: &Value) -> Result<Place<'s>> {
        let text = says.as_str().context("a reference that is no text")?;
        let (other, pointer) = text.split_once('#').unwrap_or((text, ""));
        let file = if other.is_empty() { file } else { other };
        let (file, schema) = self.0.get_key_value(file).context(text.to_owned())?;
        let schema = schema.pointer(pointer).context(text.to_owned())?;
        Ok(Place { file, schema })
    }
}

/// Returns true if `test` holds for an item of `says`, or for `says` itself.
fn any(says: &Value, test: impl Fn(&Value) -> bool) -> bool {
    match says {
        Value::Array(all) => all.iter().any(test),
        one => test(one),
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

/// Returns true if `value` has the type `name`.
fn is(name: &Value, value: &Value) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn check(schema: Value, value: Value) -> Result<()> {
        let other = json!({"$defs": {"word": {"type": "integer", "minimum": 0}}});
        let files = [("a".to_owned(), schema), ("b".to_owned(), other)];
        Schemas(files.into()).check("a", &value)
    }

    #[test]
    fn values_fit_or_do_not() {
        let word = || json!({"$ref": "b#/$defs/word"});
        for (schema, right, wrong) in [
            (json!({"type": ["string", "null"]}), json!(null), json!(1)),
            (json!({"const": 1}), json!(1), json!(2)),
            (json!({"enum": [32, 64]}), json!(64), json!(16)),
            (word(), json!(0), json!(-1)),
            (
                json!({"type": ["integer", "null"], "minimum": 0}),
                json!(null),
                json!(-1),
            ),
            (
                json!({"type": "number", "maximum": 1}),
                json!(0.5),
                json!(1.5),
            ),
            (json!({"type": "integer"}), json!(-3), json!(0.5)),
            (
                json!({"anyOf": [word(), {"type": "null"}]}),
                json!(7),
                json!("7"),
            ),
            (
                json!({"items": word(), "minItems": 1}),
                json!([1, 2]),
                json!([]),
            ),
            (
                json!({"items": word(), "maxItems": 1}),
                json!([1]),
                json!([1, 2]),
            ),
            (json!({"items": word()}), json!([1]), json!([true])),
            (
                json!({"pattern": "^SB[0-9]{4}$"}),
                json!("SB0205"),
                json!("SB205"),
            ),
            (
                json!({"type": "object", "properties": {"a": word()}}),
                json!({"a": 1}),
                json!({"a": 1, "b": 1}),
            ),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
        ] {
            check(schema.clone(), right).unwrap();
            assert!(
                check(schema.clone(), wrong.clone()).is_err(),
                "{schema} {wrong}"
            );
        }
    }

    #[test]
    fn errors_name_the_place() {
        let schema = json!({"items": {"properties": {"a": {"type": "null"}}}});
        let error = check(schema, json!([{"a": null}, {"a": 5}])).unwrap_err();
        assert_eq!(format!("{error:#}"), "1: a: 5 is not of type \"null\"");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for schema in [
            json!({"minLength": 1}),
            json!({"$ref": "#/$defs/none"}),
            json!({"$ref": "#"}),
            json!(true),
        ] {
            assert!(check(schema.clone(), json!("x")).is_err(), "{schema}");
        }
    }
}
