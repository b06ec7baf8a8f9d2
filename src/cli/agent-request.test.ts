import assert from "node:assert/strict";
import { test } from "node:test";

import { parseRewrites } from "../registry/rewrite.ts";
import { agentOptions } from "./agent-options.ts";
import { parseAgent, type AgentRequest } from "./agent-request.ts";
import { settle } from "./settle.ts";

/** What a command line of these flags and this environment comes to. */
function parsed(
  flags: Readonly<Record<string, string | boolean>> = {},
  environment: NodeJS.ProcessEnv = { NODE_NAME: "worker-1" },
): AgentRequest {
  const given = Object.entries(flags).map(
    ([flag, value]) => [flag, typeof value === "boolean" ? value : [value]] as const,
  );
  const origin = { flags: new Map(given), environment, todo: "run 'larder help agent'" };
  return parseAgent(settle(agentOptions, origin), environment);
}

test("without a flag everything is as documented", () => {
  const { platform, ...request } = parsed();
  assert.equal(platform.os, "linux");
  assert.deepEqual(request, {
    nodeName: "worker-1",
    cachePath: "/var/lib/image-cache",
    kubeconfig: undefined,
    resyncMs: 3_600_000,
    delays: { seenMs: 600_000, missingMs: 86_400_000 },
    minFree: { percent: 15 },
    atOnce: 2,
    bandwidth: undefined,
    spreadMs: 0,
    followTags: false,
    health: { host: undefined, port: 8081 },
    logLevel: "info",
    access: { insecure: [], rewrites: [] },
  });
});

test("every flag has its effect", () => {
  const request = parsed({
    "cache-path": "/data/cache/",
    kubeconfig: "/etc/kubeconfig",
    "resync-period": "0",
    "gc-delay": "90s",
    "gc-delay-missing": "48h",
    "min-free": "2Gi",
    "max-parallel-pulls": "64",
    "max-bandwidth": "10M",
    "pull-spread": "1h30m",
    "follow-tags": true,
    "health-addr": "[::1]:0",
    "log-level": "debug",
    platform: "linux/arm64",
    "registry-config": "/etc/config.json",
    "registry-ca": "/etc/ca.pem",
    "insecure-registry": "localhost:5000",
    "registry-rewrite": "a.io=b.io",
  });
  assert.deepEqual(request, {
    nodeName: "worker-1",
    cachePath: "/data/cache",
    kubeconfig: "/etc/kubeconfig",
    resyncMs: 0,
    delays: { seenMs: 90_000, missingMs: 172_800_000 },
    minFree: { bytes: 2 * 1024 ** 3 },
    atOnce: 64,
    bandwidth: 10_000_000,
    spreadMs: 5_400_000,
    followTags: true,
    health: { host: "::1", port: 0 },
    logLevel: "debug",
    platform: { os: "linux", architecture: "arm64" },
    access: {
      configPath: "/etc/config.json",
      caPath: "/etc/ca.pem",
      insecure: ["localhost:5000"],
      rewrites: parseRewrites(["a.io=b.io"]),
    },
  });
});

test("a flag comes from its variable as well, and the flag wins", () => {
  const environment = { NODE_NAME: "n", LARDER_GC_DELAY: "1m", LARDER_FOLLOW_TAGS: "true" };
  const request = parsed({}, environment);
  assert.equal(request.delays.seenMs, 60_000);
  assert.equal(request.followTags, true);
  assert.equal(parsed({ "gc-delay": "2m" }, environment).delays.seenMs, 120_000);
});

for (const [flag, values] of [
  ["cache-path", ["", "relative", "/a/../b"]],
  ["resync-period", ["", "1", "-1h", "1d", "soon", "1h 5m"]],
  ["gc-delay", ["10", "-10m", "x"]],
  ["gc-delay-missing", ["24", "1w"]],
  ["pull-spread", ["5", "-5m"]],
  ["min-free", ["", "100%", "-1", "15 %", "lots"]],
  ["max-parallel-pulls", ["", "0", "65", "1.5", "-1", "two", "1000"]],
  ["max-bandwidth", ["", "0", "-1", "fast", "10Mb"]],
  ["health-addr", ["", "8081", "localhost:8081", ":99999", "::1:8081"]],
  ["log-level", ["trace", "INFO"]],
  ["platform", ["linux", "linux/", "a/b/c/d"]],
  ["insecure-registry", ["https://a.io", "a.io/path"]],
  ["registry-rewrite", ["a.io", "=b.io", "a.io="]],
] as const) {
  for (const value of values) {
    test(`--${flag} '${value}' is wrong usage, in one line that names it and says what is right`, () => {
      const flags = { [flag]: value };
      assert.throws(
        () => parsed(flags),
        (error: unknown) => {
          assert.ok(error instanceof Error && "code" in error, String(error));
          assert.equal(error.code, "usage");
          assert.ok(!error.message.includes("\n"));
          assert.ok(error.message.split(": ").length >= 3, error.message);
          return true;
        },
      );
    });
  }
}

for (const name of [undefined, "", "Worker-1", "a/b", "-a", "a-", ".", "a b", "a".repeat(254)]) {
  test(`a NODE_NAME that is ${name === undefined ? "missing" : `'${name}'`} is wrong usage, and the line says where to get it`, () => {
    assert.throws(() => parsed({}, { NODE_NAME: name }), {
      code: "usage",
      message:
        /^NODE_NAME is .*: it must hold the name of the node.*: set it from the field spec\.nodeName/,
    });
  });
}

test("names that Kubernetes gives nodes are taken as they are", () => {
  for (const NODE_NAME of ["a", "10-0-0-1.example.com", "a".repeat(253)]) {
    assert.equal(parsed({}, { NODE_NAME }).nodeName, NODE_NAME);
  }
});
