import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { networkError } from "./network-error.ts";

const url = new URL("https://registry.example.com/v2/app/manifests/1?secret=1");

function messageOf(code: string, message = "", proxy?: URL): { message: string; again: boolean } {
  const cause = Object.assign(new Error(message), { code });
  const error = networkError(cause, {
    what: "the manifest of registry.example.com/app:1",
    url,
    proxy,
  });
  assert.equal(error.code, "network");
  assert.equal(error.cause, cause);
  assert.ok(
    error.message.startsWith("cannot get the manifest of registry.example.com/app:1 from "),
  );
  assert.ok(!error.message.includes("secret"));
  return { message: error.message, again: error.retryable };
}

suite("network errors in words that help", () => {
  for (const [code, words, again] of [
    ["ENOTFOUND", /name registry\.example\.com is not known to this machine's DNS.*getent/, true],
    ["EAI_AGAIN", /DNS does not answer.*resolv\.conf/, true],
    ["ECONNREFUSED", /nothing listens on registry\.example\.com.*port/, true],
    ["EHOSTUNREACH", /no way to registry\.example\.com.*ip route/, true],
    ["ENETUNREACH", /no way to .*HTTPS_PROXY/, true],
    ["ETIMEDOUT", /does not answer.*firewalls/, true],
    ["ECONNRESET", /broke \(ECONNRESET\)/, true],
    ["EPIPE", /broke \(EPIPE\)/, true],
    ["CERT_HAS_EXPIRED", /has expired.*clock/, false],
    ["CERT_NOT_YET_VALID", /not valid yet.*clock/, false],
    ["CERT_SIGNATURE_FAILURE", /--registry-ca/, false],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", /--registry-ca.*--insecure-registry registry/, false],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", /--registry-ca/, false],
    ["SELF_SIGNED_CERT_IN_CHAIN", /--registry-ca/, false],
    ["ERR_TLS_CERT_ALTNAME_INVALID", /another name/, false],
    ["HPE_INVALID_CONSTANT", /does not speak HTTP/, false],
  ] as const) {
    test(`${code} is explained, and ${again ? "tried again" : "final"}`, () => {
      const { message, again: retried } = messageOf(code);
      assert.match(message, words);
      assert.equal(retried, again);
    });
  }

  test("an answer in plain http to a TLS greeting names --insecure-registry", () => {
    const { message, again } = messageOf(
      "EPROTO",
      "error:0A00010B:SSL routines:x:wrong version number",
    );
    assert.match(message, /does not speak https.*--insecure-registry registry\.example\.com/);
    assert.equal(again, false);
  });

  test("a failed TLS handshake says what OpenSSL says", () => {
    const said = "C0:error:0A000438:SSL routines:ssl3_read_bytes:tlsv1 alert internal error:x";
    assert.match(messageOf("ERR_SSL_TLSV1_ALERT", said).message, /tlsv1 alert internal error/);
  });

  test("trouble with a proxy names the proxy, without its password", () => {
    const proxy = new URL("http://user:hidden@proxy.example.com:3128");
    const { message } = messageOf("ENOTFOUND", "", proxy);
    assert.match(
      message,
      /proxy\.example\.com is not known.*through the proxy proxy\.example\.com:3128/,
    );
    assert.ok(!message.includes("hidden"));
  });

  test("a name with several addresses is explained by the first failure", () => {
    const refused = Object.assign(new Error("x"), { code: "ECONNREFUSED" });
    const both = new AggregateError([refused, refused]);
    const error = networkError(both, { what: "the manifest", url, proxy: undefined });
    assert.match(error.message, /nothing listens/);
  });
});
