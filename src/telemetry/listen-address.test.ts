import assert from "node:assert/strict";
import { test } from "node:test";

import { refusal } from "../../testbed/refusal.ts";
import { formatListenAddress, parseListenAddress } from "./listen-address.ts";

test("an address is a port with or without an IP address", () => {
  for (const [text, host, port] of [
    [":8081", undefined, 8081],
    [":0", undefined, 0],
    ["127.0.0.1:0", "127.0.0.1", 0],
    ["0.0.0.0:65535", "0.0.0.0", 65_535],
    ["[::1]:8081", "::1", 8081],
    ["[::]:80", "::", 80],
    ["[fe80::1%eth0]:80", "fe80::1%eth0", 80],
  ] as const) {
    assert.deepEqual(parseListenAddress(text), { host, port });
    assert.equal(formatListenAddress({ host, port }), text);
  }
});

test("what is no address is refused with its reason and the forms that are right", () => {
  for (const [text, why] of [
    ["8081", "it is not of the form host:port"],
    ["", "it is not of the form host:port"],
    ["127.0.0.1", "it is not of the form host:port"],
    [":", "it is not of the form host:port"],
    [":80 ", "it is not of the form host:port"],
    [":-1", "it is not of the form host:port"],
    ["::1:8081", "it is not of the form host:port"],
    ["[]:80", "it is not of the form host:port"],
    ["http://127.0.0.1:80", "it is not of the form host:port"],
    [":65536", "there is no port 65536"],
    ["localhost:8081", "localhost is not an IP address"],
    ["127.0.0.256:80", "127.0.0.256 is not an IP address"],
    ["[127.0.0.1]:80", "[127.0.0.1] is not an IP address"],
  ] as const) {
    const message = `cannot listen on ${text}: ${why}: write :8081, 127.0.0.1:8081 or [::1]:8081`;
    assert.throws(
      () => parseListenAddress(text),
      refusal("usage", new RegExp(`^${RegExp.escape(message)}$`)),
    );
  }
});
