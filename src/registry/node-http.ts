/**
 * Node's HTTP client, got in a way that costs nothing else: an import of `node:http` as a value reads
 * every one of its exports, WebSocket among them, and so loads all of undici, 40 ms that nobody uses.
 */
export const http = process.getBuiltinModule("node:http");
export const https = process.getBuiltinModule("node:https");
