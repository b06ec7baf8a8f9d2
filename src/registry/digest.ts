import { createHash, type Hash } from "node:crypto";

import { LarderError } from "../errors.ts";

/** `sha256:<64 hex>` or `sha512:<128 hex>`, lower case: the two that the OCI image spec registers. */
export type Digest = `sha256:${string}` | `sha512:${string}`;

const digestPattern = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

/** Whether `text` is a digest that Larder can check. */
export function isDigest(text: unknown): text is Digest {
  return typeof text === "string" && digestPattern.test(text);
}

/** The algorithm of a digest, as node:crypto names it. */
export function algorithmOf(digest: Digest): "sha256" | "sha512" {
  return digest.startsWith("sha512:") ? "sha512" : "sha256";
}

/** The digest of some bytes at once. */
export function digestOf(bytes: Uint8Array, algorithm: "sha256" | "sha512" = "sha256"): Digest {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}

/** Hashes bytes as they stream past and, at the end, tells whether they are the ones promised. */
export class DigestCheck {
  readonly #expected: Digest;
  readonly #what: string;
  readonly #hash: Hash;

  /** @param what names the bytes in the error, as in `layer 2 of registry.example.com/app:1` */
  constructor(expected: Digest, what: string) {
    this.#expected = expected;
    this.#what = what;
    this.#hash = createHash(algorithmOf(expected));
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  /** @throws LarderError `digest` naming both digests when they differ. Call once, at the end. */
  verify(): void {
    const actual = `${algorithmOf(this.#expected)}:${this.#hash.digest("hex")}`;
    if (actual === this.#expected) return;
    throw new LarderError("digest", {
      what: `${this.#what} is not what it claims to be`,
      why: `expected ${this.#expected} but its bytes are ${actual}`,
      todo: "something between its publisher and this machine changed it; pull it from another copy or push it again",
    });
  }
}
