//! Problems as a SARIF 2.1.0 log, for code scanning of hosts and for editors.

use super::{Problem, Related};
use serde_json::{Map, Value, json};
use splitbar::diagnostic::{Fix, Location, Severity, SourcePosition, WitnessStep, WordOffset};
use std::collections::BTreeMap;
use std::fmt::Write;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log of one run: the rules that it names, and a result for each problem.
pub(crate) fn render(problems: &[Problem]) -> String {
    let mut rules: BTreeMap<&str, Value> = BTreeMap::new();
    for problem in problems {
        let entry = rules.entry(&problem.rule);
        entry.or_insert_with(|| rule(problem));
    }
    let index: BTreeMap<&str, usize> = rules.keys().copied().zip(0..).collect();
    let results: Vec<Value> = problems
        .iter()
        .map(|problem| result(problem, index.get(problem.rule.as_str()).copied()))
        .collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "splitbar",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_values().collect::<Vec<Value>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

/// The text of `splitbar explain` about the code of `problem`.
fn rule(problem: &Problem) -> Value {
    let mut rule = json!({"id": problem.rule});
    if let (Some((summary, text)), Some(rule)) = (problem.rule_texts(), rule.as_object_mut()) {
        rule.insert("shortDescription".to_owned(), json!({"text": summary}));
        rule.insert("help".to_owned(), json!({"text": text, "markdown": text}));
    }
    rule
}

fn result(problem: &Problem, rule: Option<usize>) -> Value {
    let module = &problem.file;
    let place = &problem.location;
    let related: Vec<Value> = calls(place, module)
        .chain(problem.related.iter().map(|one| related(one, module)))
        .chain(in_module(place, module))
        .collect();
    let mut result = json!({
        "ruleId": problem.rule,
        "level": level(problem.severity),
        "message": {"text": problem.sentences()},
        "locations": [location(place, module)],
    });
    let mut add = |key: &str, value: Value| {
        result
            .as_object_mut()
            .map(|result| result.insert(key.to_owned(), value))
    };
    if let Some(rule) = rule {
        add("ruleIndex", json!(rule));
    }
    if !related.is_empty() {
        add("relatedLocations", json!(related));
    }
    if !problem.witness.is_empty() {
        let steps: Vec<Value> = problem
            .witness
            .iter()
            .map(|step| json!({"location": passed(step, module)}))
            .collect();
        add(
            "codeFlows",
            json!([{"threadFlows": [{"locations": steps}]}]),
        );
    }
    let fixes: Vec<Value> = problem
        .fixes
        .iter()
        .filter(|fix| !fix.edits.is_empty())
        .map(|fix| fixed(fix, module))
        .collect();
    if !fixes.is_empty() {
        add("fixes", json!(fixes));
    }
    let properties = properties(problem);
    if !properties.is_empty() {
        add("properties", Value::Object(properties));
    }
    result
}

/// The edits of the assembly text in the file `module`.
fn fixed(fix: &Fix, module: &str) -> Value {
    let replacements: Vec<Value> = fix
        .edits
        .iter()
        .map(|edit| {
            json!({
                "deletedRegion": {
                    "startLine": edit.start.line,
                    "startColumn": edit.start.column,
                    "endLine": edit.end.line,
                    "endColumn": edit.end.column,
                },
                "insertedContent": {"text": edit.text},
            })
        })
        .collect();
    json!({
        "description": {"text": fix.change.to_string()},
        "artifactChanges": [{
            "artifactLocation": {"uri": uri(module)},
            "replacements": replacements,
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// The properties for which SARIF has no key.
fn properties(problem: &Problem) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut add = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            properties.insert(key.to_owned(), value);
        }
    };
    let place = &problem.location;
    add("target", problem.target.map(Value::from));
    add("vuid", problem.vuid.map(Value::from));
    add("module", Some(Value::from(problem.file.as_str())));
    add("word", place.word.map(|word| Value::from(word.get())));
    add("instruction", place.instruction.as_deref().map(Value::from));
    add(
        "machine_instruction",
        problem.machine.as_ref().map(|one| json!(one.text)),
    );
    add(
        "machine_place",
        problem.machine.as_ref().map(|one| json!(one.at)),
    );
    let schedules = &problem.schedules;
    add(
        "schedules",
        (!schedules.is_empty()).then(|| json!(schedules)),
    );
    properties
}

/// The position in the source, else the instruction in the module.
fn location(place: &Location, module: &str) -> Value {
    let physical = match &place.source {
        Some(source) => of_source(source, module),
        None => of_module(place.word, module),
    };
    let mut location = json!({"physicalLocation": physical});
    let names: Vec<&str> = [&place.function, &place.block]
        .into_iter()
        .filter_map(|name| name.as_deref())
        .collect();
    if let (Some(name), Some(location)) = (place.function.as_deref(), location.as_object_mut()) {
        let logical = json!([{
            "name": name,
            "fullyQualifiedName": names.join("/"),
            "kind": "function",
        }]);
        location.insert("logicalLocations".to_owned(), logical);
    }
    location
}

fn of_source(source: &SourcePosition, module: &str) -> Value {
    if source.file.is_empty() || source.line == 0 {
        return of_module(None, module);
    }
    let mut region = json!({"startLine": source.line});
    if let Some(region) = region.as_object_mut() {
        if let Some(column) = source.shown_column() {
            region.insert("startColumn".to_owned(), json!(column));
        }
        if let Some(end) = source.end {
            region.insert("endLine".to_owned(), json!(end.line));
            region.insert("endColumn".to_owned(), json!(end.column));
        }
        if let Some(text) = &source.text {
            region.insert("snippet".to_owned(), json!({"text": text}));
        }
    }
    json!({"artifactLocation": {"uri": uri(&source.file)}, "region": region})
}

fn of_module(word: Option<WordOffset>, module: &str) -> Value {
    match word {
        Some(word) => json!({
            "artifactLocation": {"uri": uri(module)},
            "region": {"byteOffset": u64::from(word.get()) * 4},
        }),
        None => json!({"artifactLocation": {"uri": uri(module)}}),
    }
}

/// The calls that the instruction was inlined through.
fn calls<'p>(place: &'p Location, module: &'p str) -> impl Iterator<Item = Value> + 'p {
    let calls = place.source.iter().flat_map(|source| &source.inlined_at);
    calls.map(move |call| {
        json!({
            "physicalLocation": of_source(call, module),
            "message": {"text": "inlined into the caller here"},
        })
    })
}

/// The instruction in the module, for a problem with a position in the source.
fn in_module(place: &Location, module: &str) -> Option<Value> {
    place.source.as_ref()?;
    let word = place.word?;
    let text = match &place.instruction {
        Some(instruction) => format!("the instruction in the module: {}", instruction.trim()),
        None => "the instruction in the module".to_owned(),
    };
    Some(json!({
        "physicalLocation": of_module(Some(word), module),
        "message": {"text": text},
    }))
}

fn related(related: &Related, module: &str) -> Value {
    with_message(location(&related.location, module), &related.text)
}

/// A place that an execution passes.
fn passed(step: &WitnessStep, module: &str) -> Value {
    let place = Location {
        word: step.word,
        source: step.source.clone(),
        ..Location::default()
    };
    let text = match &step.instruction {
        Some(instruction) => format!("{}: {}", step.text, instruction.trim()),
        None => step.text.clone(),
    };
    with_message(location(&place, module), &text)
}

fn with_message(mut location: Value, text: &str) -> Value {
    if let Some(location) = location.as_object_mut() {
        location.insert("message".to_owned(), json!({"text": text}));
    }
    location
}

/// A path as a URI reference: absolute ones as `file:///...`, others relative.
fn uri(path: &str) -> String {
    let drive =
        matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let path = if drive {
        path.replace('\\', "/")
    } else {
        path.to_owned()
    };
    let mut uri = String::new();
    if drive {
        uri.push_str("file:///");
    } else if path.starts_with('/') {
        uri.push_str("file://");
    }
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            b':' if drive && at == 1 => uri.push(':'),
            // Writing to a string cannot fail.
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        for (path, expected) in [
            ("shaders/a b.comp", "shaders/a%20b.comp"),
            ("/k/ä.comp", "file:///k/%C3%A4.comp"),
            ("C:\\k\\a.hlsl", "file:///C:/k/a.hlsl"),
            ("a:b#?.comp", "a%3Ab%23%3F.comp"),
            ("<standard input>", "%3Cstandard%20input%3E"),
        ] {
            assert_eq!(uri(path), expected);
        }
    }
}
