//! Golden sentences, screens, Markdown, CSV and files for CI over analyses that a judge could have written.

mod answers;
mod ci;
mod files;
mod fixture;
mod noise;
mod screens;
