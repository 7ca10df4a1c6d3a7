//! Edge values of every family, against arithmetic of the host.
