import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createSecureContext, rootCertificates } from "node:tls";
import { promisify } from "node:util";

import { TrustStore } from "./trust.ts";

/** Two self-signed certificates made for this test; nothing has their keys. */
const one = `-----BEGIN CERTIFICATE-----
MIIBjTCCATOgAwIBAgIUWE/Iv7aYkQn/qGeoGq4rnzQ+5qAwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQTGFyZGVyIHRlc3QgQ0EgMTAgFw0yNjExMzAyMjQxMTNaGA8y
MTI2MTEwNjIyNDExM1owGzEZMBcGA1UEAwwQTGFyZGVyIHRlc3QgQ0EgMTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABPFhRlau/WsiY7D6WEXqLrl1e/6ul+k5Kgu6
7u6YGCDla0+VeWTw4MIS7Kv6KPw/tLtcaX8zfKYJT/GuxlXFAL+jUzBRMB0GA1Ud
DgQWBBQkGPzliV1BtjMX06QCfNxz1nCnHDAfBgNVHSMEGDAWgBQkGPzliV1BtjMX
06QCfNxz1nCnHDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQC2
TS0nTHyEFlBbX3tXUhpvnZtdqE/yfihXgUcO1RGoTgIgfvMyZH9q0/LzZ5b/5LzM
aJPiOW9D9+mzGmnsQICTvgI=
-----END CERTIFICATE-----
`;
const two = `-----BEGIN CERTIFICATE-----
MIIBjjCCATOgAwIBAgIUfSCjlnLB6YtFmn1Q5PrION9aR1AwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQTGFyZGVyIHRlc3QgQ0EgMjAgFw0yNjExMzAyMjQxMTNaGA8y
MTI2MTEwNjIyNDExM1owGzEZMBcGA1UEAwwQTGFyZGVyIHRlc3QgQ0EgMjBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABEu9V3Xy3jOXfsTmuqO7NSUT1APwzXDV8e5R
jqdsGB6PzL6FkMOfTcV8r+b93Jm9EHWgQn/kev+nZ/XT2XA5+BmjUzBRMB0GA1Ud
DgQWBBR6rLK7ghWHRWVrOLjhpJ5AVkWbMTAfBgNVHSMEGDAWgBR6rLK7ghWHRWVr
OLjhpJ5AVkWbMTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQCD
a87RZeoUpinC9KF1IlGeGf2u/14V+CVwPavDTLTWiwIhAPa0ZhayNvryt7I3SWZV
BthIYcLLpLmfz2BtzExgILCg
-----END CERTIFICATE-----
`;
const names = (ca: readonly string[] | undefined) =>
  ca?.map((pem) => new X509Certificate(pem).subject).filter((name) => /Larder/.test(name));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "larder-trust-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function put(name: string, content: string | Buffer): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

describe("--registry-ca", () => {
  it("takes a file of PEM", async () => {
    const { ca } = await new TrustStore(await put("ca.pem", one)).certificates();
    assert.deepEqual(names(ca), ["CN=Larder test CA 1"]);
  });

  it("takes a file of several, with text and other blocks around them", async () => {
    const key = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    const bundle = `# ours\n${one}${key}Subject: x\r\n${two.replaceAll("\n", "\r\n")}`;
    const { ca } = await new TrustStore(await put("ca.pem", bundle)).certificates();
    assert.deepEqual(names(ca), ["CN=Larder test CA 1", "CN=Larder test CA 2"]);
  });

  it("takes a directory's *.pem, *.crt and *.cer and nothing else of it", async () => {
    await put("b.CRT", two);
    await put("README", "no certificate");
    await put("tls.key", "no certificate");
    await mkdir(join(folder, "sub"));
    await put("a.cer", one);
    const { ca } = await new TrustStore(folder).certificates();
    assert.deepEqual(names(ca), ["CN=Larder test CA 1", "CN=Larder test CA 2"]);
  });

  it("adds to Node's own roots and does not replace them", async () => {
    const { ca = [] } = await new TrustStore(await put("ca.pem", one)).certificates();
    const fingerprints = new Set(ca.map((pem) => new X509Certificate(pem).fingerprint256));
    for (const root of rootCertificates) {
      assert.ok(fingerprints.has(new X509Certificate(root).fingerprint256));
    }
  });

  it("lists each certificate once", async () => {
    await put("a.pem", one);
    await put("b.pem", one + two + String(rootCertificates[0]));
    const { ca = [] } = await new TrustStore(folder).certificates();
    const fingerprints = ca.map((pem) => new X509Certificate(pem).fingerprint256);
    assert.equal(new Set(fingerprints).size, fingerprints.length);
  });

  it("gives what node:tls takes", async () => {
    const { ca } = await new TrustStore(await put("ca.pem", one)).certificates();
    assert.ok(createSecureContext({ ca }));
  });
});

describe("a --registry-ca that cannot be used is an error with the file's name", () => {
  const refuses = (path: string, message: RegExp) =>
    assert.rejects(new TrustStore(path).certificates(), { code: "usage", message });

  it("when it is missing", () => refuses(join(folder, "gone.pem"), /gone\.pem: it does not exist/));

  it("when it holds no certificate", async () => {
    await refuses(await put("empty.pem", ""), /empty\.pem: it holds no PEM certificate/);
    await refuses(await put("html.pem", "<html>"), /html\.pem: it holds no PEM certificate/);
  });

  it("when one of its certificates is malformed, saying which", async () => {
    const broken = two.replace("MII", "XXX");
    await refuses(
      await put("ca.pem", one + broken),
      /ca\.pem: its certificate 2 of 2 is malformed/,
    );
  });

  it("when it was cut in the middle of a certificate", async () => {
    const cut = await put("ca.pem", one + two.slice(0, 300));
    await refuses(cut, /ca\.pem: only 1 of the 2 certificates that it begins are whole/);
  });

  it("when it is DER, saying how to convert it", async () => {
    const der = await put("ca.cer", new X509Certificate(one).raw);
    await refuses(
      der,
      /ca\.cer: it is DER, not PEM: convert it with 'openssl x509 -inform der -in/,
    );
  });

  it("when the directory holds no certificate file", async () => {
    await put("README", one);
    await refuses(folder, /the directory holds no \*\.pem, \*\.crt or \*\.cer/);
  });

  it("when one file of the directory is malformed, naming that file", async () => {
    await put("a.pem", one);
    await put("b.pem", "nothing");
    await refuses(folder, /b\.pem: it holds no PEM certificate/);
  });

  it("when it is not a regular file", () => refuses("/dev/zero", /not a regular file/));

  it("when a link in the directory leads nowhere", async () => {
    await symlink("gone", join(folder, "a.pem"));
    await refuses(folder, /a\.pem: it does not exist/);
  });
});

describe("certificates that change", () => {
  it("are read again, under another version", async () => {
    const store = new TrustStore(await put("ca.pem", one));
    const before = await store.certificates();
    await put("ca.pem", two);
    const now = await store.certificates();
    assert.deepEqual(names(now.ca), ["CN=Larder test CA 2"]);
    assert.notEqual(now.version, before.version);
  });

  it("are read again when a mounted directory's link was turned", async () => {
    await mkdir(join(folder, "1"));
    await mkdir(join(folder, "2"));
    await put("1/ca.pem", one);
    await put("2/ca.pem", two);
    await symlink("1", join(folder, "now"));
    const store = new TrustStore(join(folder, "now"));
    assert.deepEqual(names((await store.certificates()).ca), ["CN=Larder test CA 1"]);
    await symlink("2", join(folder, "next"));
    await rename(join(folder, "next"), join(folder, "now"));
    assert.deepEqual(names((await store.certificates()).ca), ["CN=Larder test CA 2"]);
  });

  it("are noticed when a file is added to the directory or removed from it", async () => {
    await put("a.pem", one);
    const store = new TrustStore(folder);
    const first = await store.certificates();
    await put("b.pem", two);
    assert.equal(names((await store.certificates()).ca)?.length, 2);
    await rm(join(folder, "b.pem"));
    assert.equal((await store.certificates()).version, first.version);
  });

  it("are the very same object for as long as nothing changes", async () => {
    const store = new TrustStore(await put("ca.pem", one));
    const first = await store.certificates();
    await put("ca.pem", `# a comment\n${one}`);
    assert.equal(await store.certificates(), first);
  });
});

describe("without --registry-ca", () => {
  /** What a process with this environment trusts. */
  async function trusted(environment: NodeJS.ProcessEnv): Promise<string[] | undefined> {
    const script = `
      import { TrustStore } from ${JSON.stringify(new URL("trust.ts", import.meta.url).href)};
      const { ca } = await new TrustStore().certificates();
      process.stdout.write(JSON.stringify(ca ?? null));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", script],
      { env: environment, maxBuffer: 64 * 1024 * 1024 },
    );
    const ca: unknown = JSON.parse(stdout);
    return Array.isArray(ca) ? ca.map(String) : undefined;
  }

  it("a CA that the distribution trusts is trusted", async () => {
    const ca = await trusted({ SSL_CERT_FILE: await put("system.pem", one), SSL_CERT_DIR: folder });
    assert.deepEqual(names(ca), ["CN=Larder test CA 1"]);
  });

  it("a CA of NODE_EXTRA_CA_CERTS stays trusted beside the distribution's", async () => {
    const ca = await trusted({
      SSL_CERT_FILE: await put("system.pem", one),
      SSL_CERT_DIR: join(folder, "none"),
      NODE_EXTRA_CA_CERTS: await put("extra.pem", two),
    });
    assert.deepEqual(names(ca)?.sort(), ["CN=Larder test CA 1", "CN=Larder test CA 2"]);
  });

  it("there is no list of one's own where the distribution adds nothing", async () => {
    const system = await put("system.pem", String(rootCertificates[0]));
    const ca = await trusted({ SSL_CERT_FILE: system, SSL_CERT_DIR: join(folder, "none") });
    assert.equal(ca, undefined);
  });
});
