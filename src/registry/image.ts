import type { Digest } from "./digest.ts";
import type { Platform } from "./platform.ts";

/**
 * The middle of `registry` and `image`: an image is a digest, a platform and an ordered list of
 * layers that can be opened. A registry, a docker archive and an OCI layout each make one, and
 * everything behind (decompressing, untarring, flattening, writing) knows only this.
 */
export interface Image {
  /** For messages: `registry.example.com/app:1` or `/mnt/usb/app.tar`. */
  readonly name: string;
  /** The manifest of the chosen platform, as served; a docker archive without one: its config. */
  readonly digest: Digest;
  /** What the reference named: an index's digest where it named one, else the same as `digest`. */
  readonly resolved: Digest;
  /** What the config says; undefined where it says nothing. */
  readonly platform: Platform | undefined;
  /** Lowest first. */
  readonly layers: readonly Layer[];
}

export interface Layer {
  /** For messages: `layer 2 of 3 of registry.example.com/app:1`. */
  readonly name: string;
  readonly mediaType: string;
  /** Digest of the bytes as stored; undefined only in docker archives, which do not record it. */
  readonly digest: Digest | undefined;
  /** Bytes as stored (compressed where the layer is). */
  readonly size: number;
  /** Digest of the uncompressed tar, from the config. */
  readonly diffId: Digest;
  /**
   * The bytes as stored, from the start, never more than `size`; a source that can resume does so
   * unseen. Not verified: the reader checks them against `digest`, `size` and `diffId`.
   * Ending the iteration early or aborting `signal` releases everything.
   */
  open(signal: AbortSignal): AsyncIterable<Buffer>;
}

/** A pointer to bytes, as manifests and indexes hold it. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: Digest;
  readonly size: number;
  readonly platform?: Platform;
  readonly urls?: readonly string[];
  readonly artifactType?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Somewhere that holds blobs by digest: a repository of a registry, or an OCI layout. */
export interface Content {
  /** For messages: `registry.example.com/team/app` or `/mnt/usb/app.tar`. */
  readonly where: string;
  /** Reads a manifest, index or config whole: at most 8 MiB, checked against size and digest. */
  read(descriptor: Descriptor, signal: AbortSignal): Promise<Buffer>;
  /**
   * Opens a blob as `Layer.open` does.
   *
   * @param name what it is, for messages: `layer 2 of 3 of registry.example.com/app:1`
   */
  open(descriptor: Descriptor, name: string, signal: AbortSignal): AsyncIterable<Buffer>;
}

/** What a source tells while it works; it goes to the terminal, the log and the JSON result. */
export type Notice =
  | { readonly kind: "warning"; readonly message: string }
  | {
      readonly kind: "retry";
      /** What is tried again: `layer 2 of 3 of registry.example.com/app:1`. */
      readonly what: string;
      readonly why: string;
      readonly delayMs: number;
    };

export type Notify = (notice: Notice) => void;
