//! Memory in pages, each cut into chunks of one size, as in memcached.
//!
//! A page belongs to a shard, a tenant and a class, and its whole length is charged to the tenant.
//! Inside a class an item takes the chunk of another, and nothing else moves. Eviction and
//! allocation are one step, for one write or for a few at once. Between classes and tenants memory
//! moves a page at a time (`room/balance.rs`). By construction, items never take more than is
//! charged: there is no allocator in between (`arena.rs`).
//!
//! ```text
//!   tenant ─▶ class 0 ─▶ page, page, …     each: head │ tags │ chunk │ chunk │ …
//!             class 1 ─▶ page
//!             …
//!             large   ─▶ run, run, …       each: head │ tag │ one item
//! ```
//!
//! `sizes/` defines the classes. `page.rs` is one page, `class.rs` the pages of a class, and
//! `pages.rs` a tenant's pages in one shard.
//! `victims/choose.rs` chooses the victims of a class, and `room/tailor.rs` fits a class to items
//! of one size.

#[allow(unsafe_code)]
pub(crate) mod arena;
pub(crate) mod class;
pub(crate) mod class_list;
pub(crate) mod eviction_pool;
#[allow(unsafe_code)]
mod mapping;
#[allow(unsafe_code)]
pub(crate) mod page;
pub(crate) mod pages;
pub(crate) mod victim;
