//! A report as one page that needs nothing else: no network, no other file. The text is in the
//! page itself; the code and the timelines are drawn from the report's JSON, which it contains.

use super::model::{
    Differences, Finding, KernelResult, NotLookedAt, Outcome, Report, VersionResult,
};
use super::text::{HEADS, cells, flags};
use crate::shown::{Text, is_hidden};
use std::fmt::{self, Display};

const STYLE: &str = include_str!("page/style.css");

/// The modules of the page's code, in the order in which they depend on each other.
const SCRIPTS: [&str; 6] = [
    include_str!("page/data.js"),
    include_str!("page/links.js"),
    include_str!("page/panes.js"),
    include_str!("page/counters.js"),
    include_str!("page/timeline.js"),
    include_str!("page/main.js"),
];

impl Report {
    /// The report as a page of HTML.
    pub fn html(&self) -> String {
        Page(self).to_string()
    }
}

/// JSON inside of a script element: no character of it can end the element or begin a comment.
fn embedded(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            c if "<>&".contains(c) || is_hidden(c) => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}

/// The code of the page as one script: the modules without their imports and exports.
fn script() -> String {
    let mut all = String::from("\"use strict\";\n(() => {\n");
    for module in SCRIPTS {
        let lines = module.lines().filter(|line| !line.starts_with("import "));
        for line in lines {
            all.push_str(line.strip_prefix("export ").unwrap_or(line));
            all.push('\n');
        }
    }
    all.push_str("start();\n})();\n");
    all
}

struct Page<'r>(&'r Report);

impl Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let name = Text(&report.module.name);
        writeln!(
            f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
        )?;
        writeln!(
            f,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
        )?;
        // Nothing is loaded, whatever a module's strings contain.
        writeln!(
            f,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">"
        )?;
        writeln!(
            f,
            "<title>splitbar report: {name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>"
        )?;
        writeln!(f, "<header>\n<h1>Report on {name}</h1>")?;
        writeln!(
            f,
            "<p class=\"facts\">{} bytes, SHA-256 <code>{}</code>; splitbar {}</p>",
            report.module.bytes, report.module.sha256, report.tool_version
        )?;
        let made_up = if report.launch.made_up {
            " class=\"caution\""
        } else {
            ""
        };
        writeln!(
            f,
            "<p{made_up}><strong>Launch:</strong> {}.</p>\n</header>\n<main>",
            Text(&report.launch.words)
        )?;
        writeln!(
            f,
            "<section aria-labelledby=\"verdicts\"><h2 id=\"verdicts\">Verdict</h2>\n<div class=\"verdicts\">"
        )?;
        for (result, index) in report.results.iter().zip(0..) {
            Verdict(result, index).fmt(f)?;
        }
        for failed in &report.failed {
            writeln!(
                f,
                "<article class=\"verdict failed\"><h3>{}</h3><p>The module cannot be compiled for this GPU.</p>",
                failed.target
            )?;
            Findings(&failed.findings).fmt(f)?;
            writeln!(f, "</article>")?;
        }
        writeln!(f, "</div></section>")?;
        if let Some(against) = &report.against {
            Against(against).fmt(f)?;
        }
        writeln!(
            f,
            "<section aria-labelledby=\"code\"><h2 id=\"code\">Source, plan and assembly</h2>"
        )?;
        writeln!(
            f,
            "<noscript><p>The code and the timeline need scripts. <code>splitbar report --format text</code> writes them as text.</p></noscript>"
        )?;
        writeln!(f, "<div id=\"viewer\"></div></section>")?;
        writeln!(
            f,
            "<section aria-labelledby=\"time\"><h2 id=\"time\">Timeline of the estimate</h2><div id=\"timeline\"></div></section>"
        )?;
        for (result, index) in report.results.iter().zip(0..) {
            Kernel(result, index).fmt(f)?;
        }
        if !report.findings.is_empty() {
            writeln!(
                f,
                "<section aria-labelledby=\"check\"><h2 id=\"check\">Findings of check</h2>"
            )?;
            Findings(&report.findings).fmt(f)?;
            writeln!(f, "</section>")?;
        }
        if !report.cut.is_empty() {
            writeln!(
                f,
                "<section aria-labelledby=\"cut\"><h2 id=\"cut\">Left out</h2><p>The report would be too large with these:</p><ul>"
            )?;
            for cut in &report.cut {
                writeln!(f, "<li>{}</li>", Text(cut))?;
            }
            writeln!(f, "</ul></section>")?;
        }
        writeln!(f, "</main>")?;
        writeln!(
            f,
            "<script type=\"application/json\" id=\"report\">{}</script>",
            embedded(report.json().trim_end())
        )?;
        writeln!(f, "<script>\n{}</script>\n</body>\n</html>", script())
    }
}

/// The answer for a kernel.
struct Verdict<'r>(&'r KernelResult, usize);

impl Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict(result, index) = self;
        let verdict = &result.verdict;
        let class = match verdict.outcome {
            Outcome::Split | Outcome::Pipeline | Outcome::Change => "split",
            Outcome::Full => "full",
            Outcome::NoBarrier => "none",
            Outcome::Unknown => "unknown",
        };
        writeln!(
            f,
            "<article class=\"verdict {class}\"><h3>{} on {}</h3>\n<p class=\"answer\">{}</p>",
            Text(&result.entry),
            result.target,
            Text(&verdict.sentence)
        )?;
        let mut versions = result.versions.iter();
        let chosen = versions.find(|one| Some(&one.name) == verdict.version.as_ref());
        if let Some(chosen) = chosen {
            let full = result.versions.first().map(cells);
            let chosen = cells(chosen);
            writeln!(f, "<dl>")?;
            for (name, column) in [
                ("Registers", 2),
                ("Resident workgroups", 3),
                ("Occupancy", 4),
            ] {
                let own = chosen.get(column).map_or("", String::as_str);
                let of_full = full.as_ref().and_then(|full| full.get(column));
                write!(f, "<div><dt>{name}</dt><dd>{}", Text(own))?;
                if let Some(of_full) = of_full.filter(|of_full| *of_full != own) {
                    write!(f, " <small>(full barriers: {})</small>", Text(of_full))?;
                }
                writeln!(f, "</dd></div>")?;
            }
            writeln!(f, "</dl>")?;
        }
        for caution in &verdict.cautions {
            writeln!(f, "<p class=\"caution\">{}</p>", Text(caution))?;
        }
        if !verdict.because.is_empty() {
            writeln!(f, "<details open><summary>Because</summary><ul>")?;
            for why in &verdict.because {
                writeln!(f, "<li>{}</li>", Text(why))?;
            }
            writeln!(f, "</ul></details>")?;
        }
        if verdict.outcome.has_settings() {
            writeln!(
                f,
                "<p>Options of <code>splitbar lower</code>: <code>{}</code></p>",
                Text(&flags(&verdict.settings))
            )?;
        }
        writeln!(
            f,
            "<p><a href=\"#kernel-{index}\">Versions, barriers and findings</a></p></article>"
        )
    }
}

/// The tables and findings of a kernel.
struct Kernel<'r>(&'r KernelResult, usize);

impl Display for Kernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kernel(result, index) = self;
        writeln!(
            f,
            "<section class=\"kernel\" aria-labelledby=\"kernel-{index}\"><h2 id=\"kernel-{index}\">{} on {}</h2>",
            Text(&result.entry),
            result.target
        )?;
        writeln!(
            f,
            "<h3 id=\"versions-{index}\">Versions</h3><div class=\"wide\" role=\"region\" aria-labelledby=\"kernel-{index} versions-{index}\" tabindex=\"0\"><table><thead><tr>"
        )?;
        for head in HEADS {
            writeln!(f, "<th scope=\"col\">{head}</th>")?;
        }
        writeln!(f, "</tr></thead><tbody>")?;
        let most = Most::of(&result.versions);
        for version in &result.versions {
            let is_chosen = Some(&version.name) == result.verdict.version.as_ref();
            row(f, version, &most, is_chosen)?;
        }
        writeln!(f, "</tbody></table></div>")?;
        if !result.refused.is_empty() {
            writeln!(
                f,
                "<details><summary>Versions that are not compared</summary><ul>"
            )?;
            for refused in &result.refused {
                writeln!(
                    f,
                    "<li>{}: {}</li>",
                    Text(&refused.name),
                    Text(&refused.reason)
                )?;
            }
            writeln!(f, "</ul></details>")?;
        }
        if !result.barriers.is_empty() {
            writeln!(f, "<h3>Barriers</h3><ul>")?;
            for barrier in &result.barriers {
                writeln!(
                    f,
                    "<li><strong>{}</strong> at {}: {}</li>",
                    barrier.outcome,
                    Text(&barrier.place.text),
                    Text(&barrier.reason)
                )?;
            }
            writeln!(f, "</ul>")?;
        }
        writeln!(f, "<h3>Findings</h3>")?;
        if result.findings.is_empty() {
            writeln!(f, "<p>None.</p>")?;
        }
        Findings(&result.findings).fmt(f)?;
        writeln!(f, "<h3>Not examined</h3><ul>")?;
        for NotLookedAt { part, reason } in &result.not_looked_at {
            writeln!(
                f,
                "<li><strong>{}</strong>: {}</li>",
                Text(part),
                Text(reason)
            )?;
        }
        writeln!(f, "</ul></section>")
    }
}

/// The most of each figure that the table of versions shows as a bar.
struct Most {
    registers: u32,
    of_full: f64,
}

impl Most {
    fn of(versions: &[VersionResult]) -> Most {
        let registers = versions.iter().filter_map(|one| one.registers);
        let of_full = versions.iter().filter_map(|one| one.of_full);
        Most {
            registers: registers.max().unwrap_or(1).max(1),
            of_full: of_full.fold(1.0, f64::max),
        }
    }

    /// The length of the bar in a column, from 0 to 1; `None` for a column without bars.
    fn part(&self, version: &VersionResult, column: usize) -> Option<f64> {
        match column {
            2 => Some(f64::from(version.registers?) / f64::from(self.registers)),
            4 => version.occupancy,
            8 => Some(version.of_full? / self.of_full),
            _ => None,
        }
    }
}

/// A row of the table of versions, with registers, occupancy and cycles as bars.
fn row(
    f: &mut fmt::Formatter<'_>,
    version: &VersionResult,
    most: &Most,
    is_chosen: bool,
) -> fmt::Result {
    writeln!(
        f,
        "<tr{}>",
        if is_chosen { " class=\"chosen\"" } else { "" }
    )?;
    for (cell, column) in cells(version).iter().zip(0..) {
        match (column, most.part(version, column)) {
            (0, _) if is_chosen => writeln!(
                f,
                "<th scope=\"row\">{} <span class=\"mark\">chosen</span></th>",
                Text(cell)
            )?,
            (0, _) => writeln!(f, "<th scope=\"row\">{}</th>", Text(cell))?,
            (1, _) => {
                // Lines break between options.
                let options = Text(cell).to_string();
                let options = options.replace(" --", "</code> <code>--");
                writeln!(f, "<td><code>{options}</code></td>")?;
            }
            (_, Some(part)) => {
                let width = 100.0 * part;
                writeln!(
                    f,
                    "<td class=\"bar\">{}<span class=\"track\" aria-hidden=\"true\"><span class=\"fill\" style=\"width:{width:.1}%\"></span></span></td>",
                    Text(cell)
                )?;
            }
            (_, None) => writeln!(f, "<td>{}</td>", Text(cell))?,
        }
    }
    writeln!(f, "</tr>")
}

struct Findings<'r>(&'r [Finding]);

impl Display for Findings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        writeln!(f, "<ul class=\"findings\">")?;
        for finding in self.0 {
            let code = finding.code.as_deref().unwrap_or("");
            writeln!(
                f,
                "<li class=\"{}\"><strong>{}</strong> {} <span class=\"from\">{}</span> {}",
                Text(&finding.severity),
                Text(&finding.severity),
                Text(code),
                finding.from,
                Text(&finding.message)
            )?;
            if let Some(place) = &finding.place {
                writeln!(f, "<br>at {}", Text(&place.text))?;
            }
            for detail in &finding.details {
                writeln!(f, "<br>{}", Text(detail))?;
            }
            writeln!(f, "</li>")?;
        }
        writeln!(f, "</ul>")
    }
}

struct Against<'r>(&'r Differences);

impl Display for Against<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let against = self.0;
        writeln!(
            f,
            "<section aria-labelledby=\"against\"><h2 id=\"against\">Differences from an older report</h2>\n<p>That report is of splitbar {}, on {}{}.</p>",
            Text(&against.tool_version),
            if against.same_module {
                "the same module"
            } else {
                "another module"
            },
            if against.same_launch {
                ""
            } else {
                ", for another launch: cycles cannot be compared"
            }
        )?;
        if against.differences.is_empty() {
            return writeln!(f, "<p>Nothing differs.</p></section>");
        }
        writeln!(
            f,
            "<div class=\"wide\" role=\"region\" aria-labelledby=\"against\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">kernel</th><th scope=\"col\">GPU</th><th scope=\"col\">part</th><th scope=\"col\">before</th><th scope=\"col\">now</th></tr></thead><tbody>"
        )?;
        for one in &against.differences {
            let cells = [&one.entry, &one.target, &one.what, &one.before, &one.after];
            writeln!(f, "<tr>")?;
            for cell in cells {
                writeln!(f, "<td>{}</td>", Text(cell))?;
            }
            writeln!(f, "</tr>")?;
        }
        writeln!(f, "</tbody></table></div></section>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        let text = "</script><img src=x onerror=\"a('b')\">\u{2028}&\u{202e}\u{1}";
        let shown = Text(text).to_string();
        let expected = "&lt;/script&gt;&lt;img src=x onerror=&quot;a(&#39;b&#39;)&quot;&gt;\u{fffd}&amp;\u{fffd}\u{fffd}";
        assert_eq!(shown, expected);
        let json = serde_json::to_string(text).unwrap_or_default();
        let inside = embedded(&json);
        assert!(!inside.contains(['<', '>', '&', '\u{2028}']), "{inside}");
        let read: String = serde_json::from_str(&inside).unwrap_or_default();
        assert_eq!(read, text);
    }

    #[test]
    fn the_script_has_no_module_syntax_left() {
        let script = script();
        let mut lines = script.lines();
        assert!(lines.all(|line| !line.starts_with("import") && !line.starts_with("export")));
        assert!(!script.contains("</script") && !script.contains("innerHTML"));
    }
}
