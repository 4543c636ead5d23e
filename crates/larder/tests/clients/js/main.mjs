// ioredis, node-redis and memcached with their default settings.
// Usage: node main.mjs PORT MEMCACHED_PORT OPERATIONS
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import Redis from "ioredis";
import Memcached from "memcached";
import { createClient } from "redis";

const [port, memcachedPort, path] = process.argv.slice(2);
const operations = JSON.parse(readFileSync(path, "utf8"));

// What a reply is in the words of the list: maps are objects, doubles are text.
function plain(reply, expected) {
  if (expected !== null && typeof expected === "object" && !Array.isArray(expected)) {
    if (Array.isArray(reply)) {
      const pairs = reply.flatMap((name, at) => (at % 2 ? [] : [[name, reply[at + 1]]]));
      return Object.fromEntries(pairs);
    }
    return reply instanceof Map ? Object.fromEntries(reply) : { ...reply };
  }
  return typeof expected === "string" && typeof reply === "number" ? String(reply) : reply;
}

async function byIoredis(protocol) {
  const client = new Redis({ port: Number(port), protocol });
  for (const [args, expected] of operations) {
    const reply = await client.call(...args);
    assert.deepEqual(plain(reply, expected), expected, `ioredis ${args}`);
  }
  const done = await client.multi().set("tx", 1).incr("tx").exec();
  assert.deepEqual(done, [[null, "OK"], [null, 2]]);
  const seen = [];
  for await (const keys of client.scanStream({ match: "*", count: 10 })) seen.push(...keys);
  assert.deepEqual(seen, ["tx"]);
  const listener = client.duplicate();
  const told = new Promise((resolve) => listener.on("message", (...what) => resolve(what)));
  await listener.subscribe("news");
  assert.equal(await client.publish("news", "it works"), 1);
  assert.deepEqual(await told, ["news", "it works"]);
  listener.disconnect();
  await client.quit();
}

async function byNodeRedis() {
  const client = createClient({ socket: { port: Number(port) } });
  client.on("error", (error) => assert.fail(error));
  await client.connect();
  for (const [args, expected] of operations) {
    const reply = await client.sendCommand(args);
    assert.deepEqual(plain(reply, expected), expected, `node-redis ${args}`);
  }
  const done = await client.multi().set("tx", "1").incr("tx").exec();
  assert.deepEqual(done, ["OK", 2]);
  await client.close();
}

async function byMemcached() {
  const client = new Memcached(`127.0.0.1:${memcachedPort}`);
  const call = (name, ...args) => promisify(client[name]).call(client, ...args);
  assert.equal(await call("set", "a", "1", 60), true);
  assert.equal(await call("get", "a"), "1");
  assert.equal(await call("append", "a", "2"), true);
  assert.equal(await call("incr", "a", 5), 17);
  const { a, cas } = await call("gets", "a");
  assert.equal(a, "17");
  assert.equal(await call("cas", "a", "b", cas, 60), true);
  assert.equal(await call("cas", "a", "c", cas, 60), false);
  assert.deepEqual(await call("getMulti", ["a", "nosuch"]), { a: "b" });
  assert.equal(await call("touch", "a", 10), true);
  assert.equal(await call("del", "a"), true);
  assert.equal(await call("get", "a"), undefined);
  assert.equal(await call("add", "a", "d", 60), true);
  await assert.rejects(call("add", "a", "d", 60), /not stored/);
  assert.match((await call("version"))[0].version, /^\d/);
  client.end();
}

const kinds = {
  ioredis: () => byIoredis(3),
  "ioredis, RESP2": () => byIoredis(2),
  "node-redis": byNodeRedis,
  memcached: byMemcached,
};
for (const [name, run] of Object.entries(kinds)) {
  await run();
  console.log(name);
}
