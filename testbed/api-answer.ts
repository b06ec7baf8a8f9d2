import type { IncomingMessage, ServerResponse } from "node:http";

/** A refusal, as API servers word it. */
export function sendStatus(
  response: ServerResponse,
  code: number,
  reason: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", message, reason, code };
  sendJson(response, code, status, headers);
}

export function sendJson(
  response: ServerResponse,
  status: number,
  content: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(content));
}

export async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return text === "" ? undefined : (JSON.parse(text) as unknown);
}
