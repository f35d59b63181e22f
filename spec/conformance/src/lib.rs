//! The black-box suite: binaries of this project, spoken to as their users would, against the sandbox.
