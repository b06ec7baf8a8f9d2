/** Bounds on everything that a registry sends. Tests pass smaller ones. */
export interface Limits {
  /** Tries of one request, the first included. */
  readonly tries: number;
  /** Milliseconds in all that a request may go on failing; a byte of a blob starts it anew. */
  readonly withoutProgressMs: number;
  /** Milliseconds without a byte after which a connection counts as dropped. */
  readonly stallMs: number;
  /** Milliseconds for a manifest, config, token or error body as a whole. */
  readonly smallBodyMs: number;
  /** Milliseconds before the second try; doubled for each further one. */
  readonly backoffMs: number;
  /** Bytes of a manifest, index or config. */
  readonly manifestBytes: number;
  /** Bytes of a token server's answer. */
  readonly tokenBytes: number;
  /** Bytes of the body of an error. */
  readonly errorBytes: number;
  /** Redirects in a row. */
  readonly redirects: number;
}

const mebibyte = 1024 * 1024;

export const defaultLimits: Limits = {
  tries: 6,
  withoutProgressMs: 180_000,
  stallMs: 60_000,
  smallBodyMs: 180_000,
  backoffMs: 1_000,
  manifestBytes: 8 * mebibyte,
  tokenBytes: mebibyte,
  errorBytes: 64 * 1024,
  redirects: 10,
};
