/** Sources at random, about half of them well formed: put together of good pieces and some bad ones. */
import * as fc from "fast-check";

import { digest } from "./image-cache-cases.ts";

const label = pick(
  ["a", "reg", "A-b", "0xg", "io", "xn--a"],
  ["1", "0", "255", "256", "01", "0x1", "-", "a_", ""],
);
const group = pick(["0", "1", "db8", "ABCD"], ["12345", "g", "", "1.2.3.4", "1.2.3"]);
const port = pick(["", ":1", ":80", ":65535", ":00080"], [":", ":65536", ":0", ":1:2", ":x"]);
const component = pick(["a", "app", "a.b", "a__b", "a--b", "0"], ["A", "a..b", "", "_a", "\u00e9"]);
const tag = pick(["", ":1", ":A_.-"], [":", ":-", ":1:2", ":a+b", ":\u00e9"]);
const end = pick(["", `@${digest}`], ["@", `@${digest}a`, `@sha256:${"A".repeat(64)}`, "@x/y"]);

const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
const groups = fc.array(group, { maxLength: 4 }).map((each) => each.join(":"));
const address = fc.oneof(
  fc.ipV6(),
  fc.tuple(groups, fc.constantFrom("::", ":"), groups).map((parts) => parts.join("")),
);
const registry = fc
  .oneof(
    host,
    address.map((each) => `[${each}]`),
    fc.ipV4(),
    fc.constant("localhost"),
  )
  .chain((each) => port.map((after) => `${each}${after}/`));
const repository = fc
  .array(component, { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join("/"));
const assembled = fc
  .tuple(fc.oneof(fc.constant(""), registry), repository, tag, end)
  .map((parts) => parts.join(""));

export const anySource = fc.oneof(
  { weight: 6, arbitrary: assembled },
  { weight: 1, arbitrary: textOf("aZ0./:@[]-_%= \u00e9") },
  { weight: 1, arbitrary: textOf("a0./:-_") },
);

function pick(good: readonly string[], bad: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...bad) },
  );
}

function textOf(characters: string): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...Array.from(characters)), maxLength: 12 });
}
