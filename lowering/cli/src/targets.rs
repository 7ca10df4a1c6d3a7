//! `splitbar targets`.

use super::table::columns;
use super::values::DataFormat;
use super::write;
use splitbar::TargetRow;

/// Prints one line, or one JSON object, per target.
pub(super) fn run(format: DataFormat) -> u8 {
    let rows = splitbar::targets();
    let text = match format {
        DataFormat::Text => table(&rows),
        DataFormat::Json => {
            // Serialising plain structs has no way to fail: no maps, no foreign impls.
            let mut text = serde_json::to_string_pretty(&rows).unwrap_or_default();
            text.push('\n');
            text
        }
    };
    write::to_stdout(text.as_bytes())
}

fn table(rows: &[TargetRow]) -> String {
    let mut lines = vec![
        [
            "target",
            "wave",
            "barrier",
            "async copies",
            "minimum PTX",
            "strategies",
        ]
        .map(str::to_owned),
    ];
    lines.extend(rows.iter().map(|row| {
        let waves: Vec<String> = row.wave_sizes.iter().map(u32::to_string).collect();
        [
            row.name.to_owned(),
            waves.join("|"),
            row.strategy.to_owned(),
            row.async_copies.unwrap_or("-").to_owned(),
            row.minimum_ptx.clone().unwrap_or_else(|| "-".to_owned()),
            row.strategies.join(" "),
        ]
    }));
    columns(&lines)
}
