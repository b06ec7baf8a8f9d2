import assert from "node:assert/strict";
import { test } from "node:test";

import { newHidden, parseHidden } from "./leftover.ts";

test("the hidden directory is called .<name>.tmp-<random>", () => {
  const { entry } = newHidden("worker-134-0-0");
  assert.match(entry, /^\.worker-134-0-0\.tmp-[0-9a-f]{16}$/);
  assert.deepEqual(parseHidden(entry), { entry, name: "worker-134-0-0" });
  assert.notEqual(newHidden("a").entry, newHidden("a").entry);
});

test("a hidden directory belongs to one resource, even where names look like leftovers", () => {
  assert.equal(parseHidden(".a.tmp-b.tmp-0123")?.name, "a.tmp-b");
  assert.equal(parseHidden(".a.tmp-0123")?.name, "a");
});

test("an older agent's leftovers are told by their name, too", () => {
  assert.equal(parseHidden(".app.tmp-2917381")?.name, "app");
});

test("what is not named like a leftover is none", () => {
  const others = ["app", "app.tmp-1", ".app", ".app.tmp-", ".tmp-1", ".Foo.tmp-1", ".a.tmp-b.c"];
  for (const entry of [...others, ".larder-agent.json", ".image-cache-agent.json"]) {
    assert.equal(parseHidden(entry), undefined, entry);
  }
});
