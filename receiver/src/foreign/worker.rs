//! The thread that holds a program, and how it is told to go on or to end.
//!
//! The program dies with this thread (prctl(2), `PR_SET_PDEATHSIG`), and the thread ends when its
//! orders do: dropping the worker ends all that it holds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wiretrial_contract::failure::Failure;

use super::Cut;

/// A thread that works until its orders end.
#[derive(Debug)]
pub(super) struct Worker<Order> {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// The receiving end of a worker's orders.
#[derive(Debug)]
pub(super) struct Orders<Order>(Receiver<Order>);

impl<Order: Send + 'static> Worker<Order> {
    /// Starts `work`; `failed` is told why it could not go on.
    ///
    /// # Errors
    ///
    /// A host failure when no thread can be started.
    pub(super) fn start(
        work: impl FnOnce(&Orders<Order>) -> Result<(), Cut> + Send + 'static,
        failed: impl FnOnce(Failure) + Send + 'static,
    ) -> Result<Self, Failure> {
        let (orders, inbox) = channel();
        let run = move || {
            let inbox = Orders(inbox);
            let result = catch_unwind(AssertUnwindSafe(|| work(&inbox)));
            match result {
                Ok(Ok(()) | Err(Cut::Cancelled)) => {}
                Ok(Err(Cut::Failed(failure))) => failed(failure),
                Err(_) => failed(Failure::evidence(
                    "the program's thread failed an invariant",
                )),
            }
        };
        let thread = thread::Builder::new()
            .name("program".into())
            .spawn(run)
            .map_err(|error| Failure::host(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    /// Tells the worker something; one that has ended has said why.
    pub(super) fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }

    /// Lets the thread end with the process: it holds nothing but itself.
    pub(super) fn detach(&mut self) {
        self.thread = None;
    }
}

impl<Order> Drop for Worker<Order> {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been caught inside.
            let _ = thread.join();
        }
    }
}

impl<Order> Orders<Order> {
    /// The next order within `ns`, or `None`.
    ///
    /// # Errors
    ///
    /// [`Cut::Cancelled`] once nobody can give another.
    pub(super) fn wait(&self, ns: u64) -> Result<Option<Order>, Cut> {
        match self.0.recv_timeout(Duration::from_nanos(ns)) {
            Ok(order) => Ok(Some(order)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Cut::Cancelled),
        }
    }

    /// The next order, however long it takes.
    ///
    /// # Errors
    ///
    /// [`Cut::Cancelled`] once nobody can give another.
    pub(super) fn next(&self) -> Result<Order, Cut> {
        self.0.recv().map_err(|_| Cut::Cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_a_worker_ends_its_work_without_a_failure() {
        let (said, heard) = channel();
        let failures = said.clone();
        let worker = Worker::start(
            move |orders| {
                loop {
                    if let Some(order) = orders.wait(1_000_000)? {
                        said.send(order).unwrap();
                    }
                }
            },
            move |failure| failures.send(failure.message).unwrap(),
        )
        .unwrap();
        worker.order("first".to_owned());
        assert_eq!(heard.recv().unwrap(), "first");
        drop(worker);
        assert!(heard.recv().is_err(), "no failure, and its ends are gone");
    }

    #[test]
    fn a_failure_and_a_panic_are_said() {
        let (said, heard) = channel();
        let panics = said.clone();
        let work = |_: &Orders<()>| Err(Failure::host("no").into());
        let failed = move |failure: Failure| said.send(failure.code).unwrap();
        drop(Worker::start(work, failed).unwrap());
        let work = |_: &Orders<()>| panic!("on purpose");
        let failed = move |failure: Failure| panics.send(failure.code).unwrap();
        drop(Worker::start(work, failed).unwrap());
        assert_eq!(Vec::from_iter(heard), [3, 4]);
    }
}
