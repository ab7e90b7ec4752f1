// SPDX-License-Identifier: Apache-2.0
//! A configuration that every request reads and an operator replaces now and then.
//!
//!     cargo run --release --example config

use readmost::rcu::{self, Rcu};
use std::sync::LazyLock;
use std::thread;

struct Config {
    generation: u32,
    greeting: String,
}

static CONFIG: LazyLock<Rcu<Config>> =
    LazyLock::new(|| Rcu::new(Config { generation: 0, greeting: "hello".into() }));

fn serve(name: &str) -> String {
    // What is loaded stays as it is until the section ends, whatever the operator does.
    let section = rcu::section();
    let config = CONFIG.load(&section);
    format!("{} {name} ({})", config.greeting, config.generation)
}

fn main() {
    thread::scope(|threads| {
        let workers: Vec<_> = (0..2)
            .map(|_| threads.spawn(|| (0..100_000).map(|_| serve("you").len()).max()))
            .collect();
        for _ in 0..10 {
            CONFIG.update(|old| Config { generation: old.generation + 1, greeting: "hi".into() });
        }
        for worker in workers {
            assert!(worker.join().unwrap() > Some(0));
        }
    });
    println!("{}", serve("reader"));
}
