/** ImageCaches at the edges of their rules. */
import { join } from "node:path";

import { imageCaches, type ImageCache, type ImageCacheSpec } from "../../src/api/image-cache.ts";
import type { RawAnswer } from "../../testbed/api-requests.ts";
import { startControlPlane, type ControlPlane } from "../../testbed/control-plane.ts";
import type { ControlPlaneOptions } from "../../testbed/control-plane-servers.ts";
import { until } from "../../testbed/until.ts";
import { root } from "../source-files.ts";

const hex = "0123456789abcdef".repeat(4);
export const digest = `sha256:${hex}`;

/** Where a cluster has ImageCaches. */
export const collection = `/apis/${imageCaches.group}/${imageCaches.version}/${imageCaches.plural}`;

/** Starts a control plane that serves ImageCaches. */
export async function startWithImageCaches(options?: ControlPlaneOptions): Promise<ControlPlane> {
  const plane = await startControlPlane(options);
  try {
    await plane.apply(join(root, "deploy/crds"));
    await until("ImageCaches are served", async () => (await plane.raw(collection)).status === 200);
    return plane;
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

export function imageCache(name: string, spec: ImageCacheSpec): ImageCache {
  const { group, version, kind } = imageCaches;
  return { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec };
}

/** Has the API server judge an object, which it does not keep. */
export function judge(plane: ControlPlane, object: object): Promise<RawAnswer> {
  return plane.raw(`${collection}?dryRun=All`, { method: "POST", body: object });
}

/** What a `Status` says. */
export function messageOf(answer: RawAnswer): string {
  const { json } = answer;
  const message = typeof json === "object" && json !== null && "message" in json && json.message;
  return typeof message === "string" ? message : answer.body;
}

/** Sources that are accepted; each has something of its own. */
export const accepted: readonly string[] = [
  "ubuntu",
  "ubuntu:24.04",
  "library/ubuntu",
  "grafana/loki",
  "a/b/c:1",
  "docker.io/ubuntu",
  "Index.Docker.IO/library/ubuntu",
  "localhost",
  "localhost:5000",
  "localhost/app",
  "localhost:5000/app",
  "registry.example.com/boot-cache-worker:134.0.0",
  "Registry.Example.COM:443/app",
  "registry:5000/app",
  "a-b.c--d.io/app",
  "1a.io/app",
  "1.2.3.io/app",
  "reg.io/1.2.3.4/app",
  "0/app",
  "reg.io",
  "127.0.0.1/app",
  "255.255.255.255:65535/app",
  "reg.io:1/app",
  "reg.io:05000/app",
  "reg.io:000000001/app",
  "[::]/app",
  "[::1]/app",
  "[::1]:5000/team/app:1",
  "[1::]/app",
  "[1:2:3:4:5:6:7:8]/app",
  "[1:2:3:4:5:6:7::]/app",
  "[::2:3:4:5:6:7:8]/app",
  "[1:2:3:4:5:6:192.0.2.1]/app",
  "[::ffff:192.0.2.1]:80/app",
  "[1::5:6:192.0.2.1]/app",
  "[2001:DB8::Abcd]/app",
  "reg.io/a.b_c__d-e--f/0",
  "reg.io/app:UPPER_Case.1-2",
  "reg.io/app:_",
  `reg.io/app:${"t".repeat(128)}`,
  `reg.io/${"r".repeat(255)}`,
  "r".repeat(247),
  `docker.io/${"r".repeat(247)}:1`,
  `docker.io:443/${"r".repeat(255)}`,
  `team/${"r".repeat(250)}`,
  `${`${"h".repeat(63)}.`.repeat(3)}${"h".repeat(61)}/app`,
  `reg.io/app@${digest}`,
  `reg.io/app:1@${digest}`,
  `app@${digest}`,
  `[::1]:5000/app:1@${digest}`,
  `reg.io/${hex}`,
  hex.slice(1),
];

/** What is refused, and what the refusal has to say of it. */
export const refused: readonly (readonly [source: string, says: RegExp])[] = [
  ["", /it is empty: write \[registry/],
  ["https://reg.io/app", /it is a URL: write it without the scheme/],
  ["docker://reg.io/app", /it is a URL/],
  ["reg.io/app :1", /white space in it: remove it/],
  ["reg.io/app:1\n", /white space/],
  ["reg.io/\u00a0app", /white space/],
  [hex, /ID of an image/],
  ["app@", /its digest is malformed: end it with @sha256: and 64/],
  ["app@latest", /its digest/],
  ["app@sha256:abc", /its digest/],
  [`app@${digest}0`, /its digest/],
  [`app@sha256:${hex.toUpperCase()}`, /its digest/],
  [`app@sha384:${"a".repeat(96)}`, /its digest/],
  [`app@${digest}@${digest}`, /its digest/],
  [`me:hunter2@reg.io/app:1`, /its digest/],
  ["reg.io/app:", /its tag is malformed/],
  [`app:${"t".repeat(129)}`, /its tag is malformed: after the colon write at most 128/],
  ["app:.1", /its tag/],
  ["app:-1", /its tag/],
  ["app:1+2", /its tag/],
  ["app:1:2", /its tag/],
  ["[::1]:5000", /IPv6 address/],
  ["[::1]", /IPv6 address/],
  ["-reg.io/app", /its registry is malformed: write host or host:port/],
  ["reg-.io/app", /its registry is malformed/],
  ["my_reg.io/app", /its registry is malformed/],
  ["reg.io./app", /its registry is malformed/],
  ["reg..io/app", /its registry is malformed/],
  ["./app", /its registry is malformed/],
  [":5000/app", /its registry is malformed/],
  ["::1/app", /its registry is malformed.*\[2001:db8::1\]:5000\/app/],
  ["reg.io:1:2/app", /its registry is malformed/],
  ["b\u00fccher.example/app", /its registry is malformed/],
  [`${"h.".repeat(126)}ho/app`, /its registry is malformed/],
  ["1.2.3.256/app", /no IPv4 address: write all four numbers/],
  ["127.1/app", /no IPv4 address/],
  ["0177.0.0.1:5000/app", /no IPv4 address/],
  ["0x7f.0.0.1/app", /no IPv4 address/],
  ["reg.0/app", /no IPv4 address/],
  ["reg.0xAF/app", /no IPv4 address/],
  ["reg.0x:80/app", /no IPv4 address/],
  ["5:5000/app", /no IPv4 address/],
  ["1.2.3.4.5/app", /no IPv4 address/],
  ["[reg.io]/app", /no IPv6 address in its brackets/],
  ["[]:5000/app", /no IPv6 address/],
  ["[fe80::1%eth0]/app", /no IPv6 address/],
  ["[1:2:3:4:5:6:7]/app", /no IPv6 address/],
  ["[1:2:3:4:5:6:7:8:9]/app", /no IPv6 address/],
  ["[1:2:3:4:5:6:7:8::]/app", /no IPv6 address/],
  ["[1::2::3]/app", /no IPv6 address/],
  ["[:::]/app", /no IPv6 address/],
  ["[12345::]/app", /no IPv6 address/],
  ["[1:2:3:4:5:6:7:192.0.2.1]/app", /no IPv6 address/],
  ["[::192.0.2.256]/app", /no IPv6 address/],
  ["[::192.0.2.01]/app", /no IPv6 address/],
  ["[192.0.2.1::]/app", /no IPv6 address/],
  ["[::1]x/app", /no IPv6 address/],
  ["[::1]:1:2/app", /no IPv6 address/],
  ["reg.io:/app", /no valid port after its colon: write a port of 1 to 65535/],
  ["reg.io:http/app", /no valid port/],
  ["reg.io:0/app", /no valid port/],
  ["reg.io:65536/app", /no valid port/],
  ["reg.io:0000000001/app", /no valid port/],
  ["[::1]:/app", /no valid port/],
  ["[::1]:99999/app", /no valid port/],
  ["Ubuntu", /its repository is missing or malformed: write lower-case/],
  ["reg.io/team/App", /its repository/],
  ["Team/app", /its repository/],
  ["reg.io/", /its repository/],
  ["/app", /its repository/],
  ["reg.io/a//b", /its repository/],
  ["reg.io/a/", /its repository/],
  ["reg.io/-a", /its repository/],
  ["reg.io/a-", /its repository/],
  ["reg.io/a..b", /its repository/],
  ["reg.io/a___b", /its repository/],
  ["reg.io/a._b", /its repository/],
  ["reg.io/../b", /its repository/],
  ["reg.io/app:tag/more", /its repository/],
  ["reg.io/b\u00fccher", /its repository/],
  ["[abc]/app", /its repository|IPv6/],
  [":1", /its repository/],
  [`reg.io/${"r".repeat(256)}`, /more than 255 characters/],
  [`team/${"r".repeat(251)}`, /more than 255 characters/],
  ["r".repeat(248), /more than 255 characters, library\/ included/],
  [`Docker.io/${"r".repeat(248)}:1`, /more than 255 characters/],
  [`reg.io/app:${"t".repeat(600)}`, /Too long: may not be more than 512/],
];
