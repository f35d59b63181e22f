//! The declaration of a key.

/// The keys of one section.
#[derive(Debug)]
pub(crate) struct Keys {
    entries: &'static [Key],
    others: Others,
}

/// The meaning of an undeclared key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    /// It is ignored with a warning.
    Unknown,
    /// Not used here, but by the other readers of a shared file.
    SharedWith(&'static [&'static str]),
    /// It passes through.
    Free,
}

/// A key of `broker.yml`.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name in its section.
    pub(crate) name: &'static str,
    /// Its meaning, for a reader of the file.
    pub(crate) what: &'static str,
    /// The type of its values.
    pub(crate) kind: Kind,
    /// Whether it has to be there.
    pub(crate) presence: Presence,
    /// Its default.
    pub(crate) default: Option<DefaultValue>,
    /// Its reader.
    pub(crate) status: KeyStatus,
    /// Whether its value is never shown.
    pub(crate) is_secret: bool,
    /// Its origin.
    pub(crate) origin: Origin,
}

/// The type of a key's values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Any scalar, as it is spelled.
    Text,
    /// One or more certificates in PEM form.
    Certificates,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An integer within bounds.
    Number { least: u64, most: u64 },
    /// `true` or `false`.
    Flag,
    /// A list of texts.
    Texts,
    /// A list of some of these words.
    Choices(&'static [&'static str]),
    /// A count of VMs or a percentage.
    VmCount,
    /// A map from text to text.
    TextMap,
    /// A map of anything, which passes through.
    FreeMap,
    /// A map from names of the operator's choice to numbers, with or without fraction.
    Amounts,
    /// Anything at all.
    Anything,
    /// A section.
    Section(&'static Keys),
    /// A list of sections.
    Sections(&'static Keys),
    /// A map from names of the operator's choice to sections.
    Named(&'static Keys),
}

/// Whether a key has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Its section cannot do without; of a list, at least one member.
    Required,
    /// It may be left out, if only because its section is not used.
    Optional,
}

/// The default of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultValue {
    Number(u64),
    Flag(bool),
}

/// The origin of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The Go programs have it, too.
    GoBroker,
    /// They do not, and ignore it.
    Added,
}

/// The reader of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyStatus {
    /// The broker.
    Read,
    /// Another program, such as an errand of the release.
    ReadElsewhere,
    /// No program; the text is the replacement.
    Deprecated(&'static str),
    /// The broker, where the key of this name is missing.
    OtherSpelling(&'static str),
}

impl Keys {
    /// These keys and no others.
    pub(super) const fn only(entries: &'static [Key]) -> Self {
        Self {
            entries,
            others: Others::Unknown,
        }
    }

    /// These keys, in a file that readers of `all` may use, too.
    pub(super) const fn of_a_shared_file(
        entries: &'static [Key],
        all: &'static [&'static str],
    ) -> Self {
        Self {
            entries,
            others: Others::SharedWith(all),
        }
    }

    /// These keys, and others that pass through.
    pub(super) const fn and_others(entries: &'static [Key]) -> Self {
        Self {
            entries,
            others: Others::Free,
        }
    }

    /// All that are declared, in the order in which they are explained.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static Key> {
        self.entries.iter()
    }

    /// The key of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&'static Key> {
        self.iter().find(|key| key.name == name)
    }

    /// Whether keys that are not declared pass through.
    pub(crate) fn lets_others_pass(&self) -> bool {
        self.others == Others::Free
    }

    /// Whether a key that is not declared means something to another owner.
    pub(crate) fn are_shared_with_readers_of(&self, name: &str) -> bool {
        match self.others {
            Others::SharedWith(all) => all.contains(&name),
            Others::Unknown | Others::Free => false,
        }
    }

    /// Whether some key of the section is a secret: a typo may then turn the secret into the name of a key.
    pub(crate) fn hold_secrets(&self) -> bool {
        self.iter().any(|key| key.is_secret)
    }
}

/// Free names and values only.
pub(crate) const FREE: Keys = Keys::and_others(&[]);

impl Key {
    pub(super) const fn new(name: &'static str, kind: Kind, what: &'static str) -> Self {
        Self {
            name,
            what,
            kind,
            presence: Presence::Optional,
            default: None,
            status: KeyStatus::Read,
            is_secret: false,
            origin: Origin::GoBroker,
        }
    }

    pub(super) const fn text(name: &'static str, what: &'static str) -> Self {
        Self::new(name, Kind::Text, what)
    }

    pub(super) const fn certificates(name: &'static str, what: &'static str) -> Self {
        Self::new(name, Kind::Certificates, what)
    }

    /// An integer of zero or more.
    pub(super) const fn number(name: &'static str, what: &'static str) -> Self {
        Self::number_within(name, 0, i64::MAX.cast_unsigned(), what)
    }

    pub(super) const fn number_within(
        name: &'static str,
        least: u64,
        most: u64,
        what: &'static str,
    ) -> Self {
        Self::new(name, Kind::Number { least, most }, what)
    }

    /// A switch that is off unless the file says otherwise.
    pub(super) const fn flag(name: &'static str, what: &'static str) -> Self {
        Self::optional_flag(name, what).otherwise(DefaultValue::Flag(false))
    }

    /// A flag whose absence has its own meaning.
    pub(super) const fn optional_flag(name: &'static str, what: &'static str) -> Self {
        Self::new(name, Kind::Flag, what)
    }

    pub(super) const fn texts(name: &'static str, what: &'static str) -> Self {
        Self::new(name, Kind::Texts, what)
    }

    pub(super) const fn section(
        name: &'static str,
        keys: &'static Keys,
        what: &'static str,
    ) -> Self {
        Self::new(name, Kind::Section(keys), what)
    }

    pub(super) const fn sections(
        name: &'static str,
        keys: &'static Keys,
        what: &'static str,
    ) -> Self {
        Self::new(name, Kind::Sections(keys), what)
    }

    pub(super) const fn required(mut self) -> Self {
        self.presence = Presence::Required;
        self
    }

    pub(super) const fn otherwise(mut self, default: DefaultValue) -> Self {
        self.default = Some(default);
        self
    }

    pub(super) const fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    /// The Go programs do not have it.
    pub(super) const fn of_our_own(mut self) -> Self {
        self.origin = Origin::Added;
        self
    }

    /// The broker has no use for it; others of the release have.
    pub(super) const fn read_elsewhere(mut self) -> Self {
        self.status = KeyStatus::ReadElsewhere;
        self
    }

    /// The broker takes it for the key `of` where that is missing.
    pub(super) const fn other_spelling(mut self, of: &'static str) -> Self {
        self.status = KeyStatus::OtherSpelling(of);
        self
    }

    /// The key has no effect any more. `instead` is what the operator should do.
    pub(super) const fn deprecated(mut self, instead: &'static str) -> Self {
        self.status = KeyStatus::Deprecated(instead);
        self
    }
}
