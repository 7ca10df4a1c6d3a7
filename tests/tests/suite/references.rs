//! The fixtures agree with themselves: expectations, host reference, header of the source, README.

use crate::support::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use splitbar_tests::fixture::{self, Fixture};
use splitbar_tests::reference::{self, BufferName, Element};

pub(crate) fn trials(fixtures: &[Fixture]) -> Vec<Trial> {
    fixtures
        .iter()
        .map(|fixture| {
            let fixture = fixture.clone();
            trial(format!("reference/{}", fixture.name), move || {
                agree(&fixture)
            })
        })
        .collect()
}

fn agree(fixture: &Fixture) -> Result<()> {
    let expectations = &fixture.expectations;
    let source = std::fs::read_to_string(fixture.folder.join(&expectations.source))?;
    let comment = if expectations.source.ends_with(".spvasm") {
        ";"
    } else {
        "//"
    };
    ensure!(
        source.contains(&format!("{comment} Regenerate: {}\n", expectations.command)),
        "the header of {} has another command",
        expectations.source
    );
    ensure!(
        source.contains(&format!("\n{comment} Reference: ")),
        "the header of {} says no result",
        expectations.source
    );
    let readme = std::fs::read_to_string(fixture::root().join("fixtures/README.md"))?;
    ensure!(
        readme.contains(&format!("kernels/{}", fixture.name)),
        "fixtures/README.md has no line for it"
    );

    let case = reference::case(&fixture.name).context("no host reference")?;
    let launch = &expectations.reference;
    ensure!(case.groups == launch.groups, "groups: {:?}", case.groups);
    ensure!(
        case.workgroup_size == launch.workgroup_size,
        "workgroup_size: {:?}",
        case.workgroup_size
    );
    ensure!(
        case.push_constants == launch.push_constants,
        "push_constants: {:?}",
        case.push_constants
    );
    ensure!(
        case.buffers.len() == launch.buffers.len(),
        "{} buffers",
        case.buffers.len()
    );
    for (buffer, table) in case.buffers.iter().zip(&launch.buffers) {
        let place = match (table.binding, table.argument) {
            (Some([set, binding]), None) => BufferName::Binding(set, binding),
            (None, Some(index)) => BufferName::Argument(index),
            _ => anyhow::bail!("{}: a binding or an argument", table.name),
        };
        let element = match buffer.element {
            Element::U32 => "u32",
            Element::F32 { .. } => "f32",
        };
        ensure!(
            buffer.name == table.name
                && buffer.place == place
                && element == table.element
                && buffer.before.len() == table.count
                && buffer.after.is_some() == table.output,
            "{}: the reference has {} at {:?}, {} {element}, output {}",
            table.name,
            buffer.name,
            buffer.place,
            buffer.before.len(),
            buffer.after.is_some()
        );
    }
    Ok(())
}
