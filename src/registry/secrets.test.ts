import assert from "node:assert/strict";
import { suite, test } from "node:test";

import fc from "fast-check";

import { Secrets } from "./secrets.ts";

suite("secrets", () => {
  test("are cut out in every form in which they are sent", () => {
    const secrets = new Secrets();
    secrets.add("pa:ss/word");
    const forms = ["pa:ss/word", "pa%3Ass%2Fword", Buffer.from("pa:ss/word").toString("base64")];
    assert.equal(secrets.scrub(`a ${forms.join(" b ")} c`), "a *** b *** b *** c");
  });

  test("that begin like another are cut out whole", () => {
    const secrets = new Secrets();
    secrets.add("secret");
    secrets.add("secret-and-more");
    assert.equal(secrets.scrub("x secret-and-more y"), "x *** y");
  });

  test("too short to be cut out take the whole text with them", () => {
    const secrets = new Secrets();
    secrets.add("ab");
    assert.equal(secrets.scrub("cabbage"), "");
    assert.equal(secrets.scrub("other"), "other");
  });

  test("in the query of any URL are cut out unknown", () => {
    const text = 'see "https://store.example.com/x?sig=1&b=2" and http://y/z?t';
    assert.equal(
      new Secrets().scrub(text),
      'see "https://store.example.com/x?..." and http://y/z?...',
    );
  });

  test("beyond so many are forgotten, those that were not added for longest first", () => {
    const secrets = new Secrets(2);
    for (const secret of ["first-one", "second-one", "first-one", "third-one"]) secrets.add(secret);
    assert.equal(secrets.scrub("first-one second-one third-one"), "*** second-one ***");
  });

  test("never remain, whatever the text around them", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.string(),
        fc.string(),
        (secret, before, after) => {
          const secrets = new Secrets();
          secrets.add(secret);
          const scrubbed = secrets.scrub(before + secret + after);
          // Stars and dots put in its place may spell a secret made of nothing else.
          return /^[*?.]+$/.test(secret) || !scrubbed.includes(secret);
        },
      ),
    );
  });
});
