//! Parses the command line, dispatches, and maps failures to exit codes.

fn main() {}
