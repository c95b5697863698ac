//! The user's terminal, connected to a shell in a container.

use crate::remote;
use anyhow::bail;
use boson_cluster::client::{AttachedProcess, Ended, TerminalSize};
use boson_commands::output;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{Read, stdin, stdout};
use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

const PART_BYTES: usize = 4096;
/// Parts of the input that wait to be sent.
const MAX_WAITING_PARTS: usize = 16;

/// The settings that the terminal had. They are restored at the end.
struct RawMode(Termios);

// === impl RawMode ===

impl RawMode {
    /// Lets the terminal pass on every key, such as Ctrl-C.
    fn set() -> rustix::io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Drain, &raw)?;
        Ok(Self(before))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.0);
    }
}

/// Sends input and shows output until the shell ends.
///
/// # Errors
/// The terminal cannot be set up, or a signal ends this command.
pub async fn attach(mut process: AttachedProcess, is_terminal: bool) -> anyhow::Result<Ended> {
    let (shell, mut sizes) = (process.stdin(), process.terminal_size());
    let _raw = if is_terminal { Some(RawMode::set()?) } else { None };
    let feed = async {
        let mut resized = signal(SignalKind::window_change())?;
        let mut ended = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let mut hung_up = signal(SignalKind::hangup())?;
        let (mut input, mut shell) = (read_input(), shell);
        let mut send_size = || {
            if let (Some(sizes), Some(size)) = (&mut sizes, terminal_size()) {
                // A size that does not fit is followed by a later one.
                let _ = sizes.try_send(size);
            }
        };
        send_size();
        loop {
            tokio::select! {
                part = input.recv(), if shell.is_some() => match (part, &mut shell) {
                    (Some(part), Some(open)) => open.write_all(&part).await?,
                    (None, Some(open)) => {
                        open.shutdown().await?;
                        shell = None;
                    }
                    (_, None) => {}
                },
                _ = resized.recv() => send_size(),
                _ = ended.recv() => bail!("ended by a signal"),
                _ = interrupted.recv() => bail!("ended by a signal"),
                _ = hung_up.recv() => bail!("the terminal was closed"),
            }
        }
    };
    remote::read_output(process, feed, |stream, part| {
        match stream {
            remote::Stream::Output => output::write(part)?,
            // Not as text: a character can be split between two parts.
            remote::Stream::Error => output::eprint_bytes(part),
        }
        Ok(())
    })
    .await
}

/// What the user types. A thread reads it, because such a read cannot be cancelled.
fn read_input() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(MAX_WAITING_PARTS);
    std::thread::spawn(move || {
        let mut part = vec![0; PART_BYTES];
        while let Ok(count) = stdin().read(&mut part) {
            if count == 0 || sender.blocking_send(part[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn terminal_size() -> Option<TerminalSize> {
    let size = tcgetwinsize(stdout()).ok()?;
    Some(TerminalSize {
        width: size.ws_col,
        height: size.ws_row,
    })
}
