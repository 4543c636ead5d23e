// ioredis' Cluster with its default settings, while slots move. Usage: node cluster.mjs PORT SECONDS
import assert from "node:assert/strict";
import { Cluster } from "ioredis";

const [port, seconds] = process.argv.slice(2).map(Number);
const client = new Cluster([{ host: "127.0.0.1", port }]);
const end = performance.now() + 1000 * seconds;
let hits = 0;
// A busy machine needs more time for as many hits.
for (let turn = 1; performance.now() < end || hits <= 200; turn++) {
  assert.ok(performance.now() < end + 60_000, `${hits}`);
  const key = `js:${turn % 300}`;
  const value = await client.get(key);
  assert.ok(value === null || value === `v${key}`, `${key} ${value}`);
  if (value === null) assert.equal(await client.set(key, `v${key}`, "EX", 100), "OK");
  else hits++;
  if (turn % 50 === 0) {
    assert.equal(await client.mset("{js}1", 1, "{js}2", 2), "OK");
    const done = await client.pipeline().set("{tx}1", 1).incr("{tx}1").exec();
    assert.deepEqual(done, [[null, "OK"], [null, 2]]);
    const many = await Promise.all(Array.from({ length: 20 }, (_, at) => client.get(`js:${at}`)));
    many.forEach((got, at) => assert.ok(got === null || got === `vjs:${at}`));
  }
}
assert.ok(client.nodes("master").length >= 2);
client.disconnect();
