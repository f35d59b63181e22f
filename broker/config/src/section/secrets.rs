//! Secrets outside of the configuration file: `KEY_file` names a file with the value of `KEY`, and the value `${NAME}`
//! an environment variable.
//!
//! No finding has a value. A path is no secret, but a secret may be in its place: it is not quoted either.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use super::{Found, Paths, Section};
use crate::findings::{AlreadyReported, Message};

/// The value of an environment variable, by its name.
pub(crate) type Variables = fn(&str) -> Option<OsString>;

/// The variables of this process. Only the file knows which of them are secrets.
pub(crate) fn of_this_process(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

const LARGEST_FILE: u64 = 64 << 10;

const READABLE_BY_OTHERS: u32 = 0o004;

/// The value of a secret on another machine.
const ELSEWHERE: &str = "elsewhere";

const RIGHT_FILE: &str =
    "give the absolute path of a file that has only the secret, at most 64 KiB of UTF-8";

struct SecretFile {
    text: String,
    mode: u32,
}

impl Section<'_> {
    /// The value of a secret key: as written, of the file of `KEY_file`, or of a variable.
    pub(super) fn secret(
        &self,
        key: &str,
        written: Option<Found<String>>,
    ) -> Result<Option<Found<String>>, AlreadyReported> {
        let file = self.keys.file_of(key);
        let named = match file {
            Some(file) => self.read_text(&file.name)?,
            None => None,
        };
        match (written, named) {
            (Some(written), Some(named)) => {
                let (line, column) = (written.location.line, written.location.column);
                let wrong = format!("conflicts with `{key}` at {line}:{column}");
                self.refuse_value::<(), _>(&named, (wrong, "give one of the two"));
                Err(AlreadyReported)
            }
            (None, Some(named)) => self.of_file(named).map(Some),
            (Some(written), None) => {
                let file = file.map(|file| file.name.as_str());
                self.resolved(written, file).map(Some)
            }
            (None, None) => Ok(None),
        }
    }

    fn of_file(&self, named: Found<String>) -> Result<Found<String>, AlreadyReported> {
        let path = Path::new(&named.value);
        let refused = |message: Message| {
            self.refuse_value::<(), _>(&named, message);
            AlreadyReported
        };
        if !path.is_absolute() {
            return Err(refused(("is not an absolute path", RIGHT_FILE).into()));
        }
        if self.paths() == Paths::OfAnother {
            let value = ELSEWHERE.to_owned();
            return Ok(Found { value, ..named });
        }
        let SecretFile { text, mode } = read(path).map_err(refused)?;
        if mode & READABLE_BY_OTHERS != 0 {
            let wrong = "names a file that every user of this machine can read";
            self.warn_value(&named, (wrong, "`chmod o-r` it"));
        }
        Ok(Found {
            value: text,
            ..named
        })
    }

    /// `${NAME}` is replaced if it is all of the text: within a longer one it may be part of a password. `file` is the
    /// key for a value that looks like this.
    pub(super) fn resolved(
        &self,
        written: Found<String>,
        file: Option<&str>,
    ) -> Result<Found<String>, AlreadyReported> {
        let Some(name) = variable(&written.value) else {
            return Ok(written);
        };
        if self.paths() == Paths::OfAnother {
            let value = ELSEWHERE.to_owned();
            return Ok(Found { value, ..written });
        }
        let why = match (self.context.variables)(name).map(OsString::into_string) {
            Some(Ok(value)) if !value.is_empty() => return Ok(Found { value, ..written }),
            Some(Ok(_)) => "is empty",
            Some(Err(_)) => "is not UTF-8",
            None => "is not set",
        };
        let wrong = format!("refers to the environment variable `{name}`, which {why}");
        let right = match file {
            Some(file) => {
                format!("set it; use `{file}` for a secret that looks like `${{{name}}}`")
            }
            None => "set it".to_owned(),
        };
        self.refuse_value::<(), _>(&written, (wrong, right));
        Err(AlreadyReported)
    }
}

/// The name of the variable, if the text is a reference to one.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let is_word = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
    let begins_well = !name.starts_with(|first: char| first.is_ascii_digit());
    (!name.is_empty() && begins_well && name.bytes().all(is_word)).then_some(name)
}

fn read(path: &Path) -> Result<SecretFile, Message> {
    let unreadable = |error: io::Error| -> Message {
        if error.kind() == io::ErrorKind::NotFound {
            return ("names a file that does not exist", RIGHT_FILE).into();
        }
        let right = "give a file that this program's user can read";
        (format!("names a file that cannot be read: {error}"), right).into()
    };
    let wrong = |wrong: &str| Message::from((wrong, RIGHT_FILE));
    // Opening a pipe would wait for a writer.
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(wrong("does not name a regular file"));
    }
    let mut content = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    let mut limited = file.take(LARGEST_FILE + 1);
    limited.read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > LARGEST_FILE {
        return Err(wrong("names a file of more than 64 KiB"));
    }
    let text = String::from_utf8(content).map_err(|_| wrong("names a file that is not UTF-8"))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Err(wrong("names an empty file"));
    }
    Ok(SecretFile {
        text: line.to_owned(),
        mode: metadata.permissions().mode(),
    })
}
