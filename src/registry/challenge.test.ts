import assert from "node:assert/strict";
import { suite, test } from "node:test";

import fc from "fast-check";

import { parseChallenges } from "./challenge.ts";

const parsed = (header: string) =>
  parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

suite("WWW-Authenticate", () => {
  for (const [what, header, expected] of [
    [
      "Bearer with realm, service and scope",
      'Bearer realm="https://auth.example.com/token",service="registry",scope="repository:a/b:pull,push"',
      [
        [
          "bearer",
          {
            realm: "https://auth.example.com/token",
            service: "registry",
            scope: "repository:a/b:pull,push",
          },
        ],
      ],
    ],
    ["Basic", 'Basic realm="x"', [["basic", { realm: "x" }]]],
    ["a scheme alone", "Negotiate", [["negotiate", {}]]],
    [
      "several challenges in one header",
      'Negotiate, Basic realm="x", charset="UTF-8", Bearer realm="y"',
      [
        ["negotiate", {}],
        ["basic", { realm: "x", charset: "UTF-8" }],
        ["bearer", { realm: "y" }],
      ],
    ],
    ["names in any case", 'bEARER Realm="x"', [["bearer", { realm: "x" }]]],
    ["quoted quotes", String.raw`Basic realm="a\"b\\c"`, [["basic", { realm: 'a"b\\c' }]]],
    [
      "values without quotes",
      "Bearer realm=x, service=y",
      [["bearer", { realm: "x", service: "y" }]],
    ],
    ["white space around the equals sign", 'Bearer realm = "x"', [["bearer", { realm: "x" }]]],
    ["parameters without a scheme, which are dropped", 'realm="x"', []],
    ["nothing", "", []],
  ] as const) {
    test(`is understood: ${what}`, () => {
      assert.deepEqual(parsed(header), expected);
    });
  }

  test("of any text is parsed without failing, in time in proportion to its length", () => {
    fc.assert(fc.property(fc.string({ maxLength: 500 }), (text) => void parseChallenges(text)));
    parseChallenges(`Bearer realm="${"\\".repeat(60_000)}`);
    parseChallenges(" ,".repeat(30_000));
  });
});
