//! Golden sentences, screens, Markdown and CSV over analyses that a judge could have written.

mod answers;
mod files;
mod fixture;
mod screens;
