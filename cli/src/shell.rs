//! `odb completion` and `odb man`: what a shell and `man` know of this program.

use std::{fs, io::Cursor, path::PathBuf};

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use odb_errand::ExitStatus;

use crate::{arguments::Arguments, output::Output};

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb completion bash >/etc/bash_completion.d/odb\n  odb completion zsh >~/.zfunc/_odb\n  odb completion fish >~/.config/fish/completions/odb.fish"
)]
pub(crate) struct Completion {
    /// The shell.
    #[arg(value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

/// Print the man page, or write the pages of all commands to a folder
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb man | man -l -\n  odb man --out /usr/local/share/man/man1"
)]
pub(crate) struct Man {
    /// Folder for a page of each command.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Completion {
    pub(crate) fn run(&self, output: &Output) -> anyhow::Result<ExitStatus> {
        let shell = match self.shell.as_str() {
            "zsh" => Shell::Zsh,
            "fish" => Shell::Fish,
            _ => Shell::Bash,
        };
        let mut script = Cursor::new(Vec::new());
        clap_complete::generate(shell, &mut Arguments::command(), "odb", &mut script);
        output.text(&String::from_utf8_lossy(script.get_ref()))?;
        Ok(ExitStatus::Success)
    }
}

impl Man {
    pub(crate) fn run(&self, output: &Output) -> anyhow::Result<ExitStatus> {
        let command = Arguments::command();
        if let Some(folder) = &self.out {
            let written =
                fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
            written.with_context(|| format!("cannot write the pages to `{}`", folder.display()))?;
        } else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            output.text(&String::from_utf8_lossy(&page))?;
        }
        Ok(ExitStatus::Success)
    }
}
