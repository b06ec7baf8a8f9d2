import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

export interface User {
  readonly username: string;
  readonly password: string;
  /** Exchanged for tokens by POST, as identity tokens are. */
  readonly refreshToken?: string;
}

export type Authentication =
  | { readonly kind: "basic"; readonly user: User }
  | {
      readonly kind: "bearer";
      /** Default: this server's own `/token`. */
      readonly realm?: string;
      readonly service?: string;
      /** Who gets tokens; anyone where undefined. */
      readonly user?: User;
      /** Seconds said in the answer; not said where undefined. */
      readonly expiresIn?: number;
      /** The challenge names no scope. */
      readonly withoutScope?: boolean;
    };

/** Decides who may read, and gives out tokens. */
export class TokenDesk {
  readonly #authentication: Authentication;
  readonly #valid = new Set<string>();
  /** Tokens given out, the oldest first. */
  readonly issued: string[] = [];

  constructor(authentication: Authentication) {
    this.#authentication = authentication;
  }

  /** Every token given out so far is refused from now on. */
  revoke(): void {
    this.#valid.clear();
  }

  admits(authorization: string | undefined): boolean {
    const how = this.#authentication;
    if (how.kind === "basic") return authorization === basic(how.user);
    return this.#valid.has(authorization?.replace(/^Bearer /, "") ?? "");
  }

  challenge(repository: string, ownUrl: string): string {
    const how = this.#authentication;
    if (how.kind === "basic") return 'Basic realm="larder test"';
    const parts = [
      `realm="${how.realm ?? `${ownUrl}/token`}"`,
      `service="${how.service ?? "test"}"`,
    ];
    if (how.withoutScope !== true) parts.push(`scope="repository:${repository}:pull"`);
    return `Bearer ${parts.join(",")}`;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const how = this.#authentication;
    const form = new URLSearchParams(await text(request));
    if (how.kind === "basic" || !mayHaveToken(how.user, request, form)) {
      response.writeHead(401, { "Content-Type": "application/json" }).end('{"details":"no"}');
      return;
    }
    const token = randomBytes(24).toString("base64url");
    this.#valid.add(token);
    this.issued.push(token);
    const expiry = how.expiresIn === undefined ? {} : { expires_in: how.expiresIn };
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ token, ...expiry }));
  }
}

function mayHaveToken(
  user: User | undefined,
  request: IncomingMessage,
  form: URLSearchParams,
): boolean {
  if (user === undefined) return true;
  if (request.method === "GET") return request.headers.authorization === basic(user);
  return user.refreshToken !== undefined && form.get("refresh_token") === user.refreshToken;
}

export function basic({ username, password }: User): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}
