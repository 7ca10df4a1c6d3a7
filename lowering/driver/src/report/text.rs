//! A report as text, for terminals and logs.

use super::model::{Finding, KernelResult, Report, Setting, Shown, VersionResult};
use std::fmt::Write;

/// The most lines of code of a version, source and SPIR-V in a text.
const MOST_LINES: usize = 400;

impl Report {
    /// The report as text: the same content as the page.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let module = &self.module;
        let _ = writeln!(
            text,
            "report on {}: {} bytes, SHA-256 {}",
            module.name, module.bytes, module.sha256
        );
        let _ = writeln!(
            text,
            "splitbar {}; {}\n",
            self.tool_version, self.launch.words
        );
        for result in &self.results {
            let verdict = &result.verdict;
            let _ = writeln!(
                text,
                "{} on {}: {}",
                result.entry, result.target, verdict.sentence
            );
            for why in &verdict.because {
                let _ = writeln!(text, "  because {why}");
            }
            for caution in &verdict.cautions {
                let _ = writeln!(text, "  caution: {caution}");
            }
            if verdict.outcome.has_settings() {
                let _ = writeln!(text, "  options: {}", flags(&verdict.settings));
            }
            text.push('\n');
        }
        for failed in &self.failed {
            let _ = writeln!(text, "{}: the module cannot be compiled", failed.target);
            findings(&mut text, &failed.findings);
        }
        self.compared(&mut text);
        if !self.findings.is_empty() {
            text.push_str("findings of check:\n");
            findings(&mut text, &self.findings);
        }
        for result in &self.results {
            kernel(&mut text, result);
        }
        self.listings(&mut text);
        if !self.cut.is_empty() {
            text.push_str("left out, because the report would be too large:\n");
            for cut in &self.cut {
                let _ = writeln!(text, "  {cut}");
            }
        }
        text
    }

    fn compared(&self, text: &mut String) {
        let Some(against) = &self.against else {
            return;
        };
        let _ = writeln!(
            text,
            "differences from a report of splitbar {} on {}{}:",
            against.tool_version,
            if against.same_module {
                "the same module"
            } else {
                "another module"
            },
            if against.same_launch {
                ""
            } else {
                ", for another launch"
            }
        );
        if against.differences.is_empty() {
            text.push_str("  none\n");
        }
        for one in &against.differences {
            let kernel = if one.entry.is_empty() && one.target.is_empty() {
                "module".to_owned()
            } else {
                format!("{} on {}", one.entry, one.target)
            };
            let _ = writeln!(
                text,
                "  {kernel}: {}: {} -> {}",
                one.what, one.before, one.after
            );
        }
        text.push('\n');
    }

    fn listings(&self, text: &mut String) {
        for file in &self.source {
            let _ = writeln!(text, "source {}:", file.name);
            let lines = file.lines.iter().enumerate();
            some(
                text,
                lines.map(|(index, line)| format!("{:>6}  {line}", index + 1)),
            );
        }
        if !self.spirv.is_empty() {
            text.push_str("SPIR-V, by word:\n");
            some(
                text,
                self.spirv
                    .iter()
                    .map(|line| format!("{:>6}  {}", line.word, line.text)),
            );
        }
    }
}

/// The lines, as far as there is room.
fn some(text: &mut String, lines: impl ExactSizeIterator<Item = String>) {
    let all = lines.len();
    for line in lines.take(MOST_LINES) {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if all > MOST_LINES {
        let _ = writeln!(
            text,
            "        ... and {} lines more, in JSON and in the page",
            all - MOST_LINES
        );
    }
    text.push('\n');
}

/// Options as people write them.
pub(super) fn flags(settings: &[Setting]) -> String {
    if settings.is_empty() {
        return "(defaults)".to_owned();
    }
    let flags = settings.iter();
    let flags = flags.map(|setting| format!("--{} {}", setting.option, setting.value));
    flags.collect::<Vec<_>>().join(" ")
}

fn kernel(text: &mut String, result: &KernelResult) {
    let size = result.workgroup_size.map_or_else(
        || "of the launch".to_owned(),
        |[x, y, z]| format!("{x}x{y}x{z}"),
    );
    let _ = writeln!(
        text,
        "kernel {} on {}: workgroup {size}, waves of {}",
        result.entry, result.target, result.wavefront_size
    );
    text.push_str(&table(&result.versions));
    for refused in &result.refused {
        let _ = writeln!(text, "  not compared: {}: {}", refused.name, refused.reason);
    }
    for barrier in &result.barriers {
        let _ = writeln!(
            text,
            "  barrier {}: {}, {}",
            barrier.place.text, barrier.outcome, barrier.reason
        );
    }
    if result.findings.is_empty() {
        text.push_str("  no findings\n");
    }
    findings(text, &result.findings);
    for part in &result.not_looked_at {
        let _ = writeln!(text, "  not examined: {}: {}", part.part, part.reason);
    }
    text.push('\n');
    for shown in &result.shown {
        version(text, result, shown);
    }
}

fn version(text: &mut String, result: &KernelResult, shown: &Shown) {
    let _ = writeln!(
        text,
        "{} on {}, version {}:",
        result.entry, result.target, shown.version
    );
    if let Some(timeline) = &shown.timeline {
        let spent = timeline.spent;
        let total = spent.total().max(1);
        let per_cent = |cycles: u64| 100 * cycles / total;
        let _ = writeln!(
            text,
            "  waves issue for {} % of their time, wait for memory for {} %, at barriers for {} %",
            per_cent(spent.issue),
            per_cent(spent.memory),
            per_cent(spent.barrier)
        );
        let most = |pairs: &[u64]| {
            pairs
                .chunks(2)
                .filter_map(|pair| pair.get(1))
                .max()
                .copied()
        };
        let [loads, waves] = [&timeline.loads, &timeline.waves].map(|one| most(one).unwrap_or(0));
        let _ = writeln!(
            text,
            "  at most {loads} loads are outstanding, and at most {waves} waves are resident"
        );
    }
    some(
        text,
        shown.plan.iter().map(|line| match line.note {
            Some(note) => format!("  {:<44} ; {note}", line.text),
            None => format!("  {}", line.text),
        }),
    );
    some(
        text,
        shown.assembly.iter().map(|line| {
            let word = line.word.map_or_else(String::new, |word| word.to_string());
            let part = line.part.unwrap_or("");
            let note = line
                .note
                .map_or_else(String::new, |note| format!("  ; {note}"));
            format!("{word:>6} {part:<6} {}{note}", line.text)
        }),
    );
}

fn findings(text: &mut String, findings: &[Finding]) {
    for finding in findings {
        let code = finding
            .code
            .as_ref()
            .map_or_else(String::new, |code| format!("[{code}]"));
        let _ = writeln!(
            text,
            "  {}{code} ({}): {}",
            finding.severity, finding.from, finding.message
        );
        if let Some(place) = &finding.place {
            let _ = writeln!(text, "    at {}", place.text);
        }
        for detail in &finding.details {
            let _ = writeln!(text, "    {detail}");
        }
    }
}

/// The heads of the table of versions.
pub(super) const HEADS: [&str; 9] = [
    "version",
    "options",
    "registers",
    "workgroups",
    "occupancy",
    "left in windows",
    "instructions",
    "estimated cycles",
    "against full barriers",
];

/// The cells of a version. A dash: not known.
pub(super) fn cells(version: &VersionResult) -> [String; 9] {
    let dash = || "-".to_owned();
    let about = if version.is_estimated { "about " } else { "" };
    [
        version.name.clone(),
        flags(&version.settings),
        version.registers.map_or_else(dash, |count| {
            let is_measured = version.resource_usage.is_some();
            format!("{}{count}", if is_measured { "" } else { about })
        }),
        version
            .workgroups
            .map_or_else(dash, |count| format!("{about}{count}")),
        version.occupancy.map_or_else(dash, |part| {
            let limiter = version.limiter.as_deref().unwrap_or("");
            format!("{about}{:.0} % ({limiter})", 100.0 * part)
        }),
        version.window.map_or_else(dash, |window| {
            format!("{} of {}", window.kept, window.source)
        }),
        version.instructions.to_string(),
        version.cycles.map_or_else(dash, |cycles| {
            let part = if version.is_complete { "" } else { " (a part)" };
            format!("{cycles}{part}")
        }),
        version.of_full.map_or_else(dash, |of_full| {
            let percent = format!("{:+.1} %", 100.0 * (of_full - 1.0));
            percent.replace("-0.0 %", "+0.0 %")
        }),
    ]
}

fn table(versions: &[VersionResult]) -> String {
    let rows: Vec<[String; 9]> = std::iter::once(HEADS.map(str::to_owned))
        .chain(versions.iter().map(cells))
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(column, cell)| format!("{cell:<0$}", width(column)));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    text
}
