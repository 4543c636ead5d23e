//! The registry entry, and its parameters.
//!
//! Each part can be left out, to measure its effect. `cost=0` counts hits in place of waiting.
//! `tail=0` takes ages without observations for hopeless. `stop=0` never gives up. `watch` is the
//! least share of the keys to watch (all while they are few); with 0 the policy learns from
//! residents. `tenants=0` has one table for all tenants. `bytes=0` draws all candidates alike.
//! `newest` and `memory` are the numbers of newest candidates and, by residents, of remembered
//! keys. `compete=0` lets every newcomer in. `parts=0` has one class an octave. With `profile=0`
//! octaves learn only from their neighbours. `fast=0` has only the slow rate of forgetting.
//! `recency=0` adds nothing to the indices at the start. With `steady=0` all items age alike.

use super::live::LiveRank;
use super::simulated::Gittins;
use crate::{Evictor, Param, Spec};
use std::sync::Arc;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "gittins",
    params: &[
        Param::k(64),
        Param::switch("cost", 1),
        Param::switch("tail", 1),
        Param::switch("stop", 1),
        Param::share("watch", 0.1),
        Param::switch("tenants", 1),
        Param::switch("bytes", 1),
        Param::count("newest", 8, 0, 64),
        Param::number("memory", 1.0, 0.0, 16.0),
        Param::switch("compete", 1),
        Param::switch("parts", 1),
        Param::switch("profile", 1),
        Param::switch("fast", 1),
        Param::switch("recency", 1),
        Param::switch("steady", 1),
    ],
    build: |params| Box::new(Gittins::new(params)),
    live: Some(|params| {
        let rank = LiveRank::unlearnt(params.get("cost") > 0.0);
        Evictor::sampled(Arc::new(rank), params)
    }),
};
