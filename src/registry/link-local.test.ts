import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { guarded, isLinkLocal, linkLocalCode } from "./link-local.ts";

suite("link-local addresses", () => {
  for (const url of [
    "https://169.254.169.254/",
    "https://169.254.0.1/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://0251.0376.0251.0376/",
    "https://169.254.43518/",
    "https://[fe80::1]/",
    "https://[febf::1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[64:ff9b::169.254.169.254]/",
  ]) {
    test(`are seen in every spelling that a URL allows: ${url}`, () => {
      assert.ok(isLinkLocal(new URL(url).hostname));
    });
  }

  for (const host of [
    "169.253.1.1",
    "10.0.0.1",
    "127.0.0.1",
    "[fec0::1]",
    "[::1]",
    "fe80.example.com",
  ]) {
    test(`are no others: ${host}`, () => {
      assert.ok(!isLinkLocal(host));
    });
  }

  for (const all of [true, false]) {
    test(`are refused where a name stands for one of them (${all ? "all" : "one"} looked up)`, async () => {
      const lookup = guarded((_, options, callback) => {
        const addresses = [
          { address: "192.0.2.1", family: 4 },
          { address: "169.254.169.254", family: 4 },
        ];
        if (options.all === true) callback(null, addresses);
        else callback(null, "169.254.169.254", 4);
      });
      const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
        lookup("innocent.example.com", { all }, resolve);
      });
      assert.equal(error?.code, linkLocalCode);
    });
  }

  test("do not hinder a name that stands for another", async () => {
    const lookup = guarded((_, __, callback) => callback(null, "192.0.2.1", 4));
    const found = await new Promise((resolve) => {
      lookup("registry.example.com", {}, (_, address) => resolve(address));
    });
    assert.equal(found, "192.0.2.1");
  });
});
