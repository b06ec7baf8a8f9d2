import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { LarderError } from "../errors.ts";
import { bypassesProxy } from "./no-proxy.ts";
import { proxyFor } from "./proxy.ts";

const proxied = (url: string, environment: NodeJS.ProcessEnv) =>
  proxyFor(new URL(url), environment)?.href;
const exempt = (list: string, url: string) => bypassesProxy(new URL(url), list);

describe("proxyFor", () => {
  const both = { HTTP_PROXY: "http://plain:1", HTTPS_PROXY: "http://secure:2" };

  it("uses HTTPS_PROXY for https and HTTP_PROXY for http", () => {
    assert.equal(proxied("https://reg.io/v2/", both), "http://secure:2/");
    assert.equal(proxied("http://reg.io/v2/", both), "http://plain:1/");
  });

  it("does not use HTTP_PROXY for https", () => {
    assert.equal(proxied("https://reg.io/", { HTTP_PROXY: "http://plain:1" }), undefined);
  });

  it("uses no proxy where no variable is set", () => {
    assert.equal(proxied("https://reg.io/", {}), undefined);
  });

  it("reads the variables in lower case too", () => {
    const environment = { http_proxy: "http://p:1", https_proxy: "http://p:2", no_proxy: "b.io" };
    assert.equal(proxied("http://reg.io/", environment), "http://p:1/");
    assert.equal(proxied("https://reg.io/", environment), "http://p:2/");
    assert.equal(proxied("https://b.io/", environment), undefined);
  });

  it("prefers the upper-case variable", () => {
    const environment = { HTTPS_PROXY: "http://upper:1", https_proxy: "http://lower:1" };
    assert.equal(proxied("https://reg.io/", environment), "http://upper:1/");
  });

  it("takes an empty variable for one that is not set", () => {
    const environment = { HTTPS_PROXY: " ", https_proxy: "http://lower:1" };
    assert.equal(proxied("https://reg.io/", environment), "http://lower:1/");
  });

  it("falls back to ALL_PROXY", () => {
    assert.equal(proxied("https://reg.io/", { ALL_PROXY: "http://all:1" }), "http://all:1/");
    assert.equal(proxied("http://reg.io/", { all_proxy: "http://all:1" }), "http://all:1/");
    assert.equal(
      proxied("https://reg.io/", { ...both, ALL_PROXY: "http://all:1" }),
      "http://secure:2/",
    );
  });

  it("takes a proxy without a scheme for http", () => {
    assert.equal(
      proxied("https://reg.io/", { HTTPS_PROXY: "proxy.corp:3128" }),
      "http://proxy.corp:3128/",
    );
    assert.equal(
      proxied("https://reg.io/", { HTTPS_PROXY: "10.0.0.1:3128" }),
      "http://10.0.0.1:3128/",
    );
  });

  it("takes a proxy that is reached over https", () => {
    assert.equal(proxied("https://reg.io/", { HTTPS_PROXY: "https://p:1" }), "https://p:1/");
  });

  it("keeps the proxy's user name and password for the caller", () => {
    const proxy = proxyFor(new URL("https://reg.io/"), { HTTPS_PROXY: "http://me:p%40ss@p:1" });
    assert.equal(proxy?.username, "me");
    assert.equal(proxy.password, "p%40ss");
  });

  for (const url of [
    "http://localhost:5000/",
    "https://localhost/",
    "http://127.0.0.1:5000/",
    "http://127.9.9.9/",
    "http://[::1]:5000/",
    "http://[::ffff:127.0.0.1]/",
  ]) {
    it(`never sends a loopback target through a proxy: ${url}`, () => {
      assert.equal(proxied(url, both), undefined);
    });
  }

  for (const value of [
    "http://",
    "http://:3128",
    "http://p:99999",
    "socks5://p:1080",
    "http://me:hunter2@",
    "me:hunter2@p:x",
  ]) {
    it(`refuses the malformed proxy ${value}, naming the variable and hiding the password`, () => {
      assert.throws(
        () => proxied("https://reg.io/", { https_proxy: value }),
        (error: unknown) => {
          assert.ok(error instanceof LarderError);
          assert.equal(error.code, "usage");
          assert.match(error.message, /https_proxy/);
          assert.doesNotMatch(error.message, /hunter2/);
          assert.equal(error.cause, undefined);
          return true;
        },
      );
    });
  }

  it("does not look at a malformed proxy that it would not use", () => {
    const environment = { HTTPS_PROXY: "socks5://p:1", NO_PROXY: "reg.io" };
    assert.equal(proxied("https://reg.io/", environment), undefined);
  });
});

describe("NO_PROXY", () => {
  const rules: readonly (readonly [
    rule: string,
    list: string,
    covered: string[],
    others: string[],
  ])[] = [
    ["* covers everything", "*", ["https://reg.io/", "http://10.0.0.1/"], []],
    ["an empty list covers nothing", "", [], ["https://reg.io/"]],
    [
      "a host covers itself and its subdomains",
      "reg.io",
      ["https://reg.io/", "https://a.b.reg.io/"],
      ["https://myreg.io/", "https://reg.io.evil.com/"],
    ],
    [
      ".suffix covers subdomains only",
      ".reg.io",
      ["https://a.reg.io/", "https://a.b.reg.io/"],
      ["https://reg.io/", "https://areg.io/"],
    ],
    ["*.suffix is .suffix", "*.reg.io", ["https://a.reg.io/"], ["https://reg.io/"]],
    [
      "a host with a port covers that port only",
      "reg.io:5000",
      ["https://reg.io:5000/", "https://a.reg.io:5000/"],
      ["https://reg.io/", "https://reg.io:5001/"],
    ],
    ["a port may be the scheme's own", "reg.io:443", ["https://reg.io/"], ["http://reg.io/"]],
    [
      "an IPv4 address covers itself",
      "10.0.0.1",
      ["https://10.0.0.1/", "https://10.0.0.1:5000/"],
      ["https://10.0.0.10/", "https://10.0.0.1.example.com/"],
    ],
    [
      "an IPv4 address may have a port",
      "10.0.0.1:5000",
      ["http://10.0.0.1:5000/"],
      ["http://10.0.0.1/"],
    ],
    [
      "an IPv6 address covers itself in any spelling",
      "2001:DB8:0::1",
      ["https://[2001:db8::1]/", "https://[2001:db8::1]:5000/"],
      ["https://[2001:db8::2]/"],
    ],
    [
      "an IPv6 address with a port stands in brackets",
      "[2001:db8::1]:5000",
      ["https://[2001:db8::1]:5000/"],
      ["https://[2001:db8::1]/"],
    ],
    [
      "an IPv4 CIDR covers its addresses",
      "10.0.0.0/8",
      ["https://10.1.2.3/"],
      ["https://11.0.0.1/", "https://reg.io/", "https://[2001:db8::1]/"],
    ],
    [
      "a CIDR that is not on its boundary covers its network",
      "10.9.9.9/8",
      ["https://10.1.2.3/"],
      ["https://11.0.0.1/"],
    ],
    [
      "an IPv6 CIDR covers its addresses",
      "fd00::/8",
      ["https://[fd12::1]/"],
      ["https://[2001:db8::1]/", "https://10.0.0.1/"],
    ],
    [
      "a CIDR of everything covers everything of its family",
      "0.0.0.0/0",
      ["https://10.1.2.3/"],
      ["https://[2001:db8::1]/", "https://reg.io/"],
    ],
    [
      "blanks and empty entries mean nothing",
      " , reg.io ,, a.io\tb.io ",
      ["https://reg.io/", "https://a.io/", "https://b.io/"],
      ["https://c.io/"],
    ],
    ["letter case means nothing", "REG.io", ["https://reg.io/", "https://REG.IO/"], []],
    [
      "a dot at the end of either means nothing",
      "reg.io.,a.io",
      ["https://reg.io/", "https://a.io./"],
      [],
    ],
    [
      "what is malformed covers nothing",
      "10.0.0.0/33,fd00::/129,reg.io/x,:5000,[::1,.,*.,10.0.0/8,a.io:x",
      [],
      ["https://10.0.0.1/", "https://reg.io:5000/", "https://a.io/"],
    ],
  ];
  for (const [rule, list, covered, others] of rules) {
    it(rule, () => {
      for (const url of covered) assert.ok(exempt(list, url), `${url} should be covered`);
      for (const url of others) assert.ok(!exempt(list, url), `${url} should not be covered`);
    });
  }

  it("is obeyed by proxyFor", () => {
    const environment = { HTTPS_PROXY: "http://p:1", NO_PROXY: "10.0.0.0/8,reg.io" };
    assert.equal(proxied("https://a.reg.io/", environment), undefined);
    assert.equal(proxied("https://10.2.3.4/", environment), undefined);
    assert.equal(proxied("https://other.io/", environment), "http://p:1/");
  });
});
