//! Names and ids that are text on the wire and a type in the code.

/// Declares types that hold one text each and cannot be mistaken for one another.
macro_rules! text_types {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        $vis struct $name(String);

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

pub(crate) use text_types;

text_types! {
    pub struct JobName;
    /// Names a process of a job, as monit would list it.
    pub struct ProcessName;
    /// Names a VM of this CPI: the name of its folder.
    pub struct VmCid;
    /// Names a persistent disk: the name of its folder.
    pub struct DiskCid;
}
