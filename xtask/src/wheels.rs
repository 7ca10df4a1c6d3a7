//! What is installed from pinned wheels of Python's package index: download with pip, verify,
//! unpack, rename into place.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

/// Written last into a complete installation; names exactly what was installed.
const STAMP: &str = "splitbar-stamp";

/// The packages that are installed over each other into one folder.
pub(crate) struct Set {
    /// Its name in sentences.
    pub what: &'static str,
    /// What it takes, for the line that announces it.
    pub size: &'static str,
    /// What a person can do instead: an instruction, without a period.
    pub otherwise: &'static str,
    /// All of them.
    pub packages: &'static [Package],
}

/// A package of the index.
pub(crate) struct Package {
    /// Its name there.
    pub name: &'static str,
    /// Its exact version.
    pub version: &'static str,
    /// What is unpacked: a folder or a file of the archive, and its place in the installation.
    pub parts: &'static [(&'static str, &'static str)],
    /// One wheel per platform.
    pub wheels: &'static [Wheel],
}

/// One wheel of a package.
pub(crate) struct Wheel {
    /// Operating system and processor as in `std::env::consts`.
    pub platform: (&'static str, &'static str),
    /// SHA-256 of the file, in lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// Size of the file in bytes; for the progress display.
    pub bytes: u64,
}

impl Set {
    /// Whether `at` is a complete installation of what is pinned now.
    pub(crate) fn is_complete(&self, at: &Path) -> bool {
        let there = std::fs::read_to_string(at.join(STAMP));
        match (there, self.stamp()) {
            (Ok(there), Ok(wanted)) => there == wanted,
            _ => false,
        }
    }

    /// Installs the packages as `at`, with what is on its way in folders beside it. An interrupted
    /// run leaves nothing that looks complete.
    pub(crate) fn install(&self, at: &Path) -> Result<()> {
        let stamp = self.stamp()?;
        let python = self.python()?;
        let downloads = at.with_extension("download");
        let unpacked = at.with_extension("new");
        remove(&downloads)?;
        remove(&unpacked)?;
        std::fs::create_dir_all(&downloads)?;
        eprintln!(
            "installing {} into {} (once; {})",
            self.what,
            at.display(),
            self.size
        );
        for package in self.packages {
            let wheel = self.wheel(package)?;
            let file = self.download(&python, &downloads, package, wheel)?;
            verify(&file, package, wheel)?;
            unpack(&file, &unpacked, package)?;
        }
        std::fs::write(unpacked.join(STAMP), stamp)?;
        remove(at)?;
        std::fs::rename(&unpacked, at)
            .with_context(|| format!("cannot move {} into place", self.what))?;
        remove(&downloads)
    }

    fn stamp(&self) -> Result<String> {
        let mut lines = String::new();
        for package in self.packages {
            let wheel = self.wheel(package)?;
            lines.push_str(&format!(
                "{}=={} sha256:{}\n",
                package.name, package.version, wheel.sha256
            ));
        }
        Ok(lines)
    }

    /// The wheel of this machine.
    fn wheel<'p>(&self, package: &'p Package) -> Result<&'p Wheel> {
        let here = (std::env::consts::OS, std::env::consts::ARCH);
        let wheel = package.wheels.iter().find(|wheel| wheel.platform == here);
        wheel.with_context(|| {
            format!(
                "there is no ready-made {} for {} on {}: {}",
                self.what, here.0, here.1, self.otherwise
            )
        })
    }

    /// Fetches one package with pip, which checks the checksum itself; shows how far it is from the
    /// size of what lies in its working folder.
    fn download(
        &self,
        python: &Path,
        downloads: &Path,
        package: &Package,
        wheel: &Wheel,
    ) -> Result<PathBuf> {
        let folder = downloads.join(package.name);
        let temporary = folder.join("tmp");
        std::fs::create_dir_all(&temporary)?;
        let requirements = folder.join("requirements.txt");
        std::fs::write(
            &requirements,
            format!(
                "{}=={} --hash=sha256:{}\n",
                package.name, package.version, wheel.sha256
            ),
        )?;
        let log = folder.join("pip.log");

        let mut child = Command::new(python)
            .args([
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--require-hashes",
                "--only-binary",
                ":all:",
                "--progress-bar",
                "off",
            ])
            .args(["--disable-pip-version-check", "--no-input", "--dest"])
            .arg(&folder)
            .arg("--requirement")
            .arg(&requirements)
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null())
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?)
            .spawn()
            .context("cannot start pip")?;
        let bar = progress("fetch ", package.name, wheel.bytes);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            bar.set_position(
                wheels_in(&folder, 4)
                    .iter()
                    .map(|(_, size)| *size)
                    .max()
                    .unwrap_or(0)
                    .min(wheel.bytes),
            );
            std::thread::sleep(Duration::from_millis(100));
        };
        if !status.success() {
            bar.abandon();
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            bail!(
                "pip cannot fetch {} {}:\n{}\nCheck that this machine reaches its Python package index, or {}.",
                package.name,
                package.version,
                said.trim_end(),
                self.otherwise,
            );
        }
        bar.set_position(wheel.bytes);
        bar.finish();
        match wheels_in(&folder, 1).as_slice() {
            [(file, _)] => Ok(file.clone()),
            other => bail!(
                "pip left {} files for {}, where one was asked for",
                other.len(),
                package.name
            ),
        }
    }

    /// A Python that can fetch the packages: at least 3.10 (their own floor), with pip.
    fn python(&self) -> Result<PathBuf> {
        const PROGRAM: &str = "python3";
        const LEAST: (u32, u32) = (3, 10);
        let version = Command::new(PROGRAM)
            .args(["-c", "import sys; print(*sys.version_info[:2])"])
            .output()
            .ok()
            .filter(|output| output.status.success())
            .and_then(|output| version(&String::from_utf8_lossy(&output.stdout)));
        let pip = || {
            Command::new(PROGRAM)
                .args(["-m", "pip", "--version"])
                .output()
        };
        let seen = match version {
            None => "there is no python3 on PATH".to_owned(),
            Some((major, minor)) if (major, minor) < LEAST => {
                format!("`{PROGRAM}` is {major}.{minor}")
            }
            Some(_) if pip().is_ok_and(|output| output.status.success()) => {
                return Ok(PROGRAM.into());
            }
            Some((major, minor)) => format!("`{PROGRAM}` ({major}.{minor}) has no pip"),
        };
        bail!(
            "{} is installed through Python's pip, but {seen}.\n\
             Install Python 3.10 or newer with pip (on Debian and Ubuntu: `apt-get install python3 python3-pip`), or {}.",
            self.what,
            self.otherwise
        )
    }
}

/// The two numbers of `3 11`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_whitespace().map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The place of a file of the archive in the installation; `None` for what is not unpacked.
fn place(parts: &[(&str, &str)], name: &Path) -> Option<PathBuf> {
    parts.iter().find_map(|(inside, to)| {
        let rest = name.strip_prefix(inside).ok()?;
        // A part that is one file leaves nothing behind its name.
        Some(if rest.as_os_str().is_empty() {
            PathBuf::from(to)
        } else {
            Path::new(to).join(rest)
        })
    })
}

/// The wheels below `folder`, to this depth, with their sizes so far.
fn wheels_in(folder: &Path, depth: usize) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(m) if m.is_dir() && depth > 1 => found.extend(wheels_in(&path, depth - 1)),
            Ok(m) if m.is_file() && path.extension().is_some_and(|e| e == "whl") => {
                found.push((path, m.len()))
            }
            _ => {}
        }
    }
    found
}

/// Compares the checksum of a file with the pinned one: pip has done it, but a mirror of pip's
/// cache need not have.
fn verify(file: &Path, package: &Package, wheel: &Wheel) -> Result<()> {
    let bar = progress("verify", package.name, wheel.bytes);
    let mut input = File::open(file)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = input.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hasher.update(buffer.get(..n).unwrap_or_default());
        bar.inc(n as u64);
    }
    bar.finish();
    let found: String = hasher
        .finalize()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    if found != wheel.sha256 {
        bail!(
            "{} {}: the checksum is {found}, and {} is pinned; nothing was installed",
            package.name,
            package.version,
            wheel.sha256
        );
    }
    Ok(())
}

/// Unpacks the parts of a wheel, with the executable bits that the archive records.
fn unpack(file: &Path, to: &Path, package: &Package) -> Result<()> {
    let mut archive = zip::ZipArchive::new(File::open(file)?)
        .with_context(|| format!("{} is not an archive", file.display()))?;
    let bar = progress(
        "unpack",
        package.name,
        archive
            .decompressed_size()
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(0),
    );
    let mut buffer = vec![0; 1 << 18];
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i)?;
        // `enclosed_name` refuses names that leave the folder.
        let Some(name) = entry.enclosed_name() else {
            bail!("{}: unsafe file name {:?}", package.name, entry.name())
        };
        let Some(name) = place(package.parts, &name) else {
            continue;
        };
        if entry.is_dir() {
            continue;
        }
        let path = to.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut output = File::create(&path)?;
        loop {
            let n = entry.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            output.write_all(buffer.get(..n).unwrap_or_default())?;
            bar.inc(n as u64);
        }
        #[cfg(unix)]
        if let Some(mode) = entry.unix_mode() {
            use std::os::unix::fs::PermissionsExt as _;
            output.set_permissions(std::fs::Permissions::from_mode((mode & 0o777) | 0o600))?;
        }
    }
    bar.finish();
    Ok(())
}

/// A progress display on a terminal, one plain line elsewhere.
fn progress(verb: &str, what: &str, bytes: u64) -> ProgressBar {
    use std::io::IsTerminal as _;
    if !std::io::stderr().is_terminal() {
        eprintln!("  {verb} {what} ({} MB)", bytes / 1_000_000);
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "  {msg:38} [{bar:30}] {bytes:>10} / {total_bytes:10} {bytes_per_sec}",
    )
    .map(|s| s.progress_chars("=> "))
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes)
        .with_style(style)
        .with_message(format!("{verb} {what}"))
}

/// Removes a link or a folder, whichever is there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    if path.is_symlink() {
        std::fs::remove_file(path)?;
    } else if path.is_dir() {
        std::fs::remove_dir_all(path)?;
    } else if path.exists() {
        bail!("{} is in the way", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_folders_or_files() {
        let parts = [("a/static", ""), ("b/bin/tool", "bin/tool")];
        let of = |name: &str| place(&parts, Path::new(name));
        assert_eq!(of("a/static/lib/x.a"), Some("lib/x.a".into()));
        assert_eq!(of("b/bin/tool"), Some("bin/tool".into()));
        assert_eq!(of("b/bin/tools"), None);
        assert_eq!(of("a/statics/x"), None);
    }

    #[test]
    fn versions_are_two_numbers() {
        assert_eq!(version("3 11\n"), Some((3, 11)));
        assert_eq!(version("3"), None);
    }
}
