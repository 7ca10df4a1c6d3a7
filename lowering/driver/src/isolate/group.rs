//! A process and the programs that it starts (ptxas, lld), as one group: when it ends, or is ended,
//! they end with it.

use super::streams::{Pipes, Streams};
use crate::scratch;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// A running process that is the first of its group. Dropping it ends the group.
#[derive(Debug)]
pub(super) struct Group {
    process: Process,
    /// How it ended. Its number may be another process's from then on.
    status: Option<ExitStatus>,
}

/// How it came to be.
#[derive(Debug)]
enum Process {
    /// A program was started.
    Started(Child),
    /// It is a copy of this process.
    #[cfg(unix)]
    Copied(rustix::process::Pid),
}

impl Group {
    /// Starts `command` in a group of its own.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn start(command: &mut Command) -> io::Result<(Group, Streams)> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut child = command.spawn()?;
        let streams = Streams {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        };
        Ok((Group::from_process(Process::Started(child)), streams))
    }

    /// Runs `work` in a copy of this process, which has a group of its own and ends with the exit
    /// code that `work` gives, or says its error; the streams that `pipes` names are pipes. `None`
    /// where this process cannot be copied.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn copy(
        pipes: Pipes,
        work: impl FnOnce() -> io::Result<u8>,
    ) -> io::Result<Option<(Group, Streams)>> {
        #[cfg(unix)]
        {
            let copied = super::copy::copy(pipes, work)?;
            Ok(copied.map(|(id, streams)| (Group::from_process(Process::Copied(id)), streams)))
        }
        #[cfg(not(unix))]
        {
            let _ = (pipes, work);
            Ok(None)
        }
    }

    fn from_process(process: Process) -> Group {
        Group {
            process,
            status: None,
        }
    }

    /// The number of the process.
    pub(super) fn id(&self) -> u32 {
        match &self.process {
            Process::Started(child) => child.id(),
            #[cfg(unix)]
            Process::Copied(id) => id.as_raw_nonzero().get().cast_unsigned(),
        }
    }

    /// Waits for the end of the process, until `deadline` at most; `None` when it is still running
    /// then. What it has left of its group ends.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> io::Result<Option<ExitStatus>> {
        /// Between two looks at a process that has a deadline.
        const PERIOD: Duration = Duration::from_millis(5);
        while !self.has_ended(deadline.is_none())? {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(None);
            }
            std::thread::sleep(PERIOD);
        }
        self.end().map(Some)
    }

    /// Whether the process has ended; `block` waits for it. Its number stays its own.
    #[cfg(unix)]
    fn has_ended(&self, block: bool) -> io::Result<bool> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let Some(id) = rustix::process::Pid::from_raw(self.id().cast_signed()) else {
            return Err(io::Error::other("the process has no number"));
        };
        let mut options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        options.set(WaitIdOptions::NOHANG, !block);
        loop {
            match waitid(WaitId::Pid(id), options) {
                Ok(ended) => return Ok(ended.is_some()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    #[cfg(not(unix))]
    fn has_ended(&mut self, block: bool) -> io::Result<bool> {
        let Process::Started(child) = &mut self.process;
        let status = if block {
            Some(child.wait()?)
        } else {
            child.try_wait()?
        };
        Ok(status.is_some())
    }

    /// Ends the group, and says how the process itself has ended.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        // Whoever has ended already cannot be ended: that is no error.
        #[cfg(unix)]
        if let Some(id) = rustix::process::Pid::from_raw(self.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
        let status = match &mut self.process {
            Process::Started(child) => {
                let _ = child.kill();
                child.wait()?
            }
            #[cfg(unix)]
            Process::Copied(id) => super::copy::end(*id)?,
        };
        if status.code().is_none() {
            // It was killed, and had no time to remove anything.
            scratch::remove_of(self.id());
        }
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Ends this process at once, and its group if it is the first of one. Work may be going on, under
/// which nothing may be taken down.
pub(super) fn end_own() -> ! {
    scratch::remove_of(std::process::id());
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpgrp, getpid, kill_process, kill_process_group};
        let own = getpid();
        if getpgrp() == own {
            let _ = kill_process_group(own, Signal::KILL);
        }
        let _ = kill_process(own, Signal::KILL);
    }
    std::process::exit(0)
}

/// Ends this process and its group as soon as `owner` is not its parent any more.
pub(super) fn end_with(owner: u32) {
    #[cfg(unix)]
    std::thread::spawn(move || {
        /// Between two looks.
        const PERIOD: Duration = Duration::from_millis(100);
        while rustix::process::getppid()
            .is_some_and(|id| id.as_raw_nonzero().get().cast_unsigned() == owner)
        {
            std::thread::sleep(PERIOD);
        }
        end_own()
    });
    #[cfg(not(unix))]
    let _ = owner;
}
