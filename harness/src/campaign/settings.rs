//! The values of all keys for one arm in one case, after the layers are merged.

use std::collections::BTreeMap;

use wiretrial_contract::failure::Failure;

use super::adapters::Adapters;
use super::keys::{self, Default as KeyDefault};
use super::layers::{Entry, Place};
use super::margin::Margin;
use super::value::Value;

/// The key that brings in the keys of an adapter.
const ADAPTER: &str = "program.adapter";

/// A value and who set it.
#[derive(Debug)]
struct Setting {
    value: Value,
    place: Place,
    /// Whether an adapter's file did: a later adapter takes its place as a whole.
    adapter: bool,
}

/// Values by path; every key with a fixed default has one.
#[derive(Debug)]
pub(super) struct Settings(BTreeMap<&'static str, Setting>);

impl Settings {
    /// The defaults.
    pub(super) fn defaults() -> Self {
        let fixed = keys::KEYS.iter().filter_map(|key| match key.default {
            KeyDefault::Fixed(text) => {
                let value = key.form.read_default(text);
                let setting = Setting {
                    value: value.expect("a test reads every fixed default"),
                    place: Place::Table,
                    adapter: false,
                };
                Some((key.path, setting))
            }
            _ => None,
        });
        Self(fixed.collect())
    }

    /// Lays a layer over them. The keys of an adapter that it names lie right below its own.
    pub(super) fn lay<'e>(
        &mut self,
        layer: impl Iterator<Item = &'e Entry> + Clone,
        adapters: Adapters<'_>,
    ) -> Result<(), Failure> {
        if let Some(named) = layer
            .clone()
            .filter(|entry| entry.key.path == ADAPTER)
            .last()
        {
            let Value::Word(name) = &named.value else {
                unreachable!("an adapter is a text");
            };
            self.0.retain(|_, setting| !setting.adapter);
            for entry in adapters.entries(name, &named.place)? {
                self.set(&entry, true);
            }
        }
        for entry in layer {
            self.set(entry, false);
        }
        Ok(())
    }

    fn set(&mut self, entry: &Entry, adapter: bool) {
        let setting = Setting {
            value: entry.value.clone(),
            place: entry.place.clone(),
            adapter,
        };
        self.0.insert(entry.key.path, setting);
    }

    pub(super) fn value(&self, path: &str) -> Option<&Value> {
        self.0.get(path).map(|setting| &setting.value)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Who set a key; the table of keys if nobody did.
    pub(super) fn place(&self, path: &str) -> &Place {
        self.0
            .get(path)
            .map_or(&Place::Table, |setting| &setting.place)
    }

    /// The keys that begin with this and are not at their defaults for want of a word about them.
    pub(super) fn set_by_hand<'s>(
        &'s self,
        prefix: &'s str,
    ) -> impl Iterator<Item = &'static str> + use<'s> {
        let by_hand = self.0.iter().filter(move |(path, setting)| {
            path.starts_with(prefix) && setting.place != Place::Table
        });
        by_hand.map(|(path, _)| *path)
    }

    /// A sentence about a key, with the place where it was set.
    pub(super) fn refuse(&self, path: &str, sentence: &str) -> Failure {
        let colon = if sentence.starts_with("is ") { "" } else { ":" };
        self.place(path)
            .refuse(format_args!("{path}{colon} {sentence}"))
    }

    pub(super) fn fixed_word(&self, path: &str) -> String {
        self.word(path).expect("the key has a word")
    }

    pub(super) fn word(&self, path: &str) -> Option<String> {
        match self.value(path)? {
            Value::Word(word) => Some(word.clone()),
            _ => None,
        }
    }

    pub(super) fn number<T: TryFrom<u64>>(&self, path: &str) -> Option<T> {
        match self.value(path)? {
            Value::Number(number) => T::try_from(*number).ok(),
            _ => None,
        }
    }

    pub(super) fn fixed<T: TryFrom<u64>>(&self, path: &str) -> T {
        self.number(path)
            .expect("the key has a value, and its range fits the type")
    }

    pub(super) fn share(&self, path: &str) -> Option<f64> {
        match self.value(path)? {
            Value::Share(share) => *share,
            _ => None,
        }
    }

    pub(super) fn margin(&self, path: &str) -> Margin {
        match self.value(path) {
            Some(Value::Margin(margin)) => *margin,
            _ => Margin::None,
        }
    }

    pub(super) fn switch(&self, path: &str) -> bool {
        matches!(self.value(path), Some(Value::Switch(true)))
    }
}
