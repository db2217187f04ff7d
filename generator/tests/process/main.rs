//! Tests of the real executable, sending to sockets on loopback.

mod by_hand;
mod child;
mod serve;
