//! Public reports of miscompiles by LLVM that a SPIR-V module can reach, and what splitbar makes of
//! each: one table, `docs/llvm_reports.md` as text. Other reports are counted, not listed. The
//! verdicts speak of the pinned LLVM and of the modules that were tried, no more.

mod amdgpu;
mod independent;
#[cfg(test)]
mod page;
mod report;
mod tracker;

pub use report::{Folder, Origin, Report, Verdict};

/// The reports that a module can reach, by origin and number.
pub const REPORTS: [&[Report]; 3] = [amdgpu::REPORTS, independent::REPORTS, tracker::REPORTS];

/// Reports of one origin that are not listed, by reason.
#[derive(Copy, Clone, Debug)]
pub struct Unlisted {
    /// The folder of FuzzX; none: LLVM's issue tracker.
    pub folder: Option<Folder>,
    /// Their number.
    pub count: usize,
    /// Why they are not listed: for most, no module can reach them. Markdown.
    pub reason: &'static str,
}

/// The reports that are not listed.
#[rustfmt::skip] // One reason is one line of the page.
pub const UNLISTED: &[Unlisted] = &[
    Unlisted { folder: Some(Folder::Amdgpu), count: 18, reason: "the compiler crashes on an intrinsic that splitbar does not emit there: no wrong code" },
    Unlisted { folder: Some(Folder::Amdgpu), count: 12, reason: "intrinsics, library calls and pointers that splitbar does not emit (reductions and medians by name, legacy products, `pow`, buffer resources as pointers)" },
    Unlisted { folder: Some(Folder::Amdgpu), count: 21, reason: "arguments, attributes and calls of front ends of C, and calls between whole-wave or chained functions" },
    Unlisted { folder: Some(Folder::Amdgpu), count: 7, reason: "image accesses of some channels, and masks of schedules or counts of barriers that splitbar does not use" },
    Unlisted { folder: Some(Folder::Amdgpu), count: 10, reason: "the other instruction selector, sanitizers, strict floats, inline assembly, approximate or flushed doubles, ballots wider than a wave, two scopes in one instruction" },
    Unlisted { folder: Some(Folder::X86), count: 92, reason: "a hint, a flag or the mark `volatile` is lost: no value is wrong" },
    Unlisted { folder: Some(Folder::X86), count: 55, reason: "x86, or options that splitbar does not use" },
    Unlisted { folder: Some(Folder::X86), count: 85, reason: "other targets' passes, atomic accesses that SPIR-V does not have, integers of more than 64 bits, library calls, and claims that the collection itself withdrew; judged by their titles and the collection's own notes, not read one by one, and not tried" },
    Unlisted { folder: Some(Folder::X86), count: 5, reason: "atomic operations without an order, vector loops with masked tails, and widths that SPIR-V does not have" },
    Unlisted { folder: Some(Folder::Ptx), count: 87, reason: "about ptxas, not about LLVM; read by title only. A module can lead to PTX of such a shape; `splitbar sim` runs PTX itself, without ptxas, so nothing was tried" },
    Unlisted { folder: None, count: 1, reason: "an instruction that splitbar does not emit" },
];

/// Returns the reports of `folder`, or of LLVM's issue tracker for `None`, that a module can reach.
pub fn listed(folder: Option<Folder>) -> impl Iterator<Item = &'static Report> {
    REPORTS
        .into_iter()
        .flatten()
        .filter(move |report| match report.origin {
            Origin::FuzzX { folder: of, .. } => folder == Some(of),
            Origin::Llvm(_) => folder.is_none(),
        })
}

#[cfg(test)]
mod tests {
    use super::super::FAULTS;
    use super::{Folder, Origin, REPORTS, UNLISTED, Verdict, listed};

    #[test]
    fn rows_are_sorted_and_told_apart() {
        let origins: Vec<Origin> = REPORTS.into_iter().flatten().map(|r| r.origin).collect();
        for pair in origins.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
        }
    }

    #[test]
    fn guards_are_faults_of_the_table() {
        for report in REPORTS.into_iter().flatten() {
            if let Verdict::Guarded(id) = report.verdict {
                assert!(FAULTS.iter().any(|fault| fault.id == id), "{id}");
            }
        }
    }

    #[test]
    fn texts_fit_into_cells() {
        for report in REPORTS.into_iter().flatten() {
            let verdict = match report.verdict {
                Verdict::Guarded(text)
                | Verdict::Right(text)
                | Verdict::Free(text)
                | Verdict::NotTried(text) => text,
                Verdict::Fixed { tried, .. } => tried.unwrap_or("-"),
            };
            for text in [report.what, report.gpus, verdict] {
                assert!(!text.is_empty(), "{:?}", report.origin);
                assert!(
                    !text.replace("\\|", "").contains(['|', '\n']),
                    "{:?}",
                    report.origin
                );
            }
        }
    }

    /// What the list of reports has for each folder, listed or not.
    #[test]
    fn all_reports_that_were_read_are_counted() {
        for (folder, read) in [
            (Some(Folder::Amdgpu), 178),
            (Some(Folder::X86), 261),
            (Some(Folder::Ptx), 87),
        ] {
            let unlisted = UNLISTED.iter().filter(|row| row.folder == folder);
            let unlisted: usize = unlisted.map(|row| row.count).sum();
            assert_eq!(listed(folder).count() + unlisted, read, "{folder:?}");
        }
    }
}
