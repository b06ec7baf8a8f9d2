import { LarderError } from "../errors.ts";
import { scopeOf } from "./credential-scope.ts";
import { asObject, member, type JsonObject } from "./json.ts";

/** What to show a registry, or its token server, so that it knows who asks. */
export type Credential =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  /** To be exchanged for access tokens at the token server. */
  | { readonly kind: "identity-token"; readonly token: string; readonly username?: string }
  /** To be sent to the registry as it is. */
  | { readonly kind: "registry-token"; readonly token: string };

/** A docker config.json or containers auth.json, as far as it says who to be. */
export interface DockerConfig {
  readonly file: string;
  /** By scope; judged only when asked for, so that one bad entry does not spoil the others. */
  readonly entries: ReadonlyMap<string, ConfigEntry>;
  /** Names of helpers by scope; an empty name says that this scope is not `store`'s. */
  readonly helpers: ReadonlyMap<string, string>;
  /** The helper for every other registry. */
  readonly store: string | undefined;
}

export interface ConfigEntry {
  /** As in the file, for messages. */
  readonly key: string;
  readonly fields: JsonObject;
}

/** The error for a file as a whole. */
type Fault = (why: string) => LarderError;

/**
 * Parses the text of `file`. Neither the error nor its cause quotes the text: it holds secrets.
 *
 * @param named whether somebody named the file, as an option does
 * @throws LarderError `usage` where it is named, else `auth`
 */
export function parseDockerConfig(text: string, file: string, named = false): DockerConfig {
  const fault: Fault = (why) => malformed(file, why, named ? "usage" : "auth");
  const root = asObject(parseJson(text, fault));
  if (root === undefined) throw fault("it is not a JSON object");

  const entries = new Map<string, ConfigEntry>();
  for (const [key, value] of Object.entries(section(root, "auths", fault))) {
    const fields = asObject(value);
    if (fields === undefined) throw fault(`its auths entry ${key} is not an object`);
    // `docker login` with a credential store leaves empty entries, which must not hide a full one.
    const scope = scopeOf(key);
    if (Object.keys(fields).length > 0 && !entries.has(scope)) entries.set(scope, { key, fields });
  }

  const helpers = new Map<string, string>();
  for (const [key, value] of Object.entries(section(root, "credHelpers", fault))) {
    helpers.set(scopeOf(key), helperName(value, `credHelpers entry ${key}`, fault));
  }
  const store = member(root, "credsStore");
  const storeName = isAbsent(store) ? "" : helperName(store, "credsStore", fault);
  return { file, entries, helpers, store: storeName === "" ? undefined : storeName };
}

/**
 * The credential that an entry holds; undefined when it holds none.
 *
 * @throws LarderError `auth` naming file and entry, never what it holds
 */
export function credentialOf(entry: ConfigEntry, file: string): Credential | undefined {
  const field = (name: string) => {
    const value = member(entry.fields, name);
    if (isAbsent(value) || typeof value === "string") return value ?? "";
    throw malformed(file, `${name} of its auths entry ${entry.key} is not a string`);
  };
  const registryToken = field("registrytoken");
  if (registryToken !== "") return { kind: "registry-token", token: registryToken };

  const auth = field("auth").trim();
  const login =
    auth === "" ? { username: field("username"), password: field("password") } : decodeAuth(auth);
  const token = field("identitytoken");
  if (token !== "") {
    const username = login?.username ?? "";
    return { kind: "identity-token", token, ...(username === "" ? {} : { username }) };
  }
  if (login === undefined) {
    throw malformed(file, `auth of its auths entry ${entry.key} is not base64 of user:password`);
  }
  return login.username === "" ? undefined : { kind: "basic", ...login };
}

/** A password may hold colons, a user name may not. */
function decodeAuth(auth: string): { username: string; password: string } | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(auth)) return undefined;
  const decoded = Buffer.from(auth, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  if (colon < 1) return undefined;
  // Old versions of docker padded passwords with NULs.
  return {
    username: decoded.slice(0, colon),
    password: decoded.slice(colon + 1).replace(/\0+$/, ""),
  };
}

function section(root: JsonObject, name: string, fault: Fault): JsonObject {
  const value = member(root, name);
  const object = isAbsent(value) ? {} : asObject(value);
  if (object === undefined) throw fault(`its ${name} is not an object`);
  return object;
}

/** The name becomes part of a program's name, so it must not lead to another folder. */
function helperName(value: unknown, where: string, fault: Fault): string {
  if (value === "") return "";
  if (typeof value === "string" && /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(value)) return value;
  throw fault(`its ${where} is not the name of a credential helper`);
}

function parseJson(text: string, fault: Fault): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const place = /line \d+ column \d+/.exec(error instanceof Error ? error.message : "")?.[0];
    throw fault(`it is not JSON${place === undefined ? "" : ` (${place})`}`);
  }
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

function malformed(file: string, why: string, code: "usage" | "auth" = "auth"): LarderError {
  return new LarderError(code, {
    what: `cannot use the registry configuration ${file}`,
    why,
    todo: "mend or replace it with a config.json as docker login writes it, or name another one with --registry-config",
  });
}
