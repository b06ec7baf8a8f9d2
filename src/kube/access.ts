/** What a TLS connection to an API server takes; where anything changes, new connections are made. */
export interface TlsOptions {
  /** PEM; undefined: the authorities that this runtime trusts. */
  readonly ca?: string;
  /** Where `ca` is from, for messages: a path, or `the kubeconfig`. */
  readonly caSource?: string;
  /** PEM of the client certificate, and its key. */
  readonly cert?: string;
  readonly key?: string;
  /** The name that the server's certificate has to have, where it is not the host of the URL. */
  readonly servername?: string;
  /** Present only where whoever configured the access does not want certificates checked. */
  readonly rejectUnauthorized?: false;
}

/** Where an API server is, and by what right it is asked. */
export interface Access {
  readonly server: URL;
  /** The way to it, where a kubeconfig names a proxy. The environment's are never used. */
  readonly proxy?: URL;
  /** Headers that go with every request: whom a kubeconfig impersonates. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * As of now; called before each request.
   *
   * @throws LarderError `api` or `usage` naming the file that is missing or malformed
   */
  readonly tls: () => Promise<TlsOptions>;
  /**
   * The Authorization header as of now; undefined where none is sent. Called before each request.
   *
   * @param refused the last one was answered with 401: everything is read again
   * @throws LarderError `api` or `usage` naming what is missing or malformed
   */
  readonly authorization: (refused?: boolean) => Promise<string | undefined>;
}
