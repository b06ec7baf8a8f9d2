/** A registry in this process that serves one image and takes nothing: the least that can be pulled from. */
import { createServer, type Server } from "node:http";
import { once } from "node:events";

import { manifestsOf, type BuiltImage, type BuiltIndex } from "./built-image.ts";

export interface ImageServer {
  /** `127.0.0.1:<port>`, plain http. */
  readonly host: string;
  close(): Promise<void>;
}

/** Serves `image` under any repository and any tag. */
export async function serveImage(image: BuiltImage | BuiltIndex): Promise<ImageServer> {
  const manifests = new Map<string, BuiltImage | BuiltIndex>(
    manifestsOf(image).map((each) => [each.digest, each]),
  );
  const server = createServer((request, response) => {
    const match = /^\/v2\/.+\/(manifests|blobs)\/([^/]+)$/.exec(request.url ?? "");
    const name = match?.[2] ?? "";
    const manifest = match?.[1] === "manifests" ? (manifests.get(name) ?? image) : undefined;
    const body = manifest?.manifest ?? image.blobs.get(name);
    if (body === undefined) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"errors":[]}');
      return;
    }
    const type = manifest?.mediaType ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-length": body.length }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { host: `127.0.0.1:${portOf(server)}`, close: () => closed(server) };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}
