import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

import type { BuiltImage } from "../../testbed/image-builder.ts";

export interface TinyRegistry {
  /** `127.0.0.1:port` */
  readonly host: string;
  /** Paths of all requests so far. */
  readonly requests: string[];
  /** How much of each layer is sent before it stalls. Default all. */
  stallAfter: number | undefined;
}

/** A registry on loopback, over plain http, that has one image under every name and tag. */
export async function tinyRegistry(
  context: TestContext,
  image: () => BuiltImage,
): Promise<TinyRegistry> {
  const registry = {
    host: "",
    requests: [] as string[],
    stallAfter: undefined as number | undefined,
  };
  const server = createServer((request, response) => {
    const url = request.url ?? "";
    registry.requests.push(url);
    const { manifest, mediaType, blobs } = image();
    const digest = /\/blobs\/(.*)$/.exec(url)?.[1];
    if (digest === undefined) {
      if (url.includes("/manifests/")) send(response, manifest, mediaType);
      else response.end();
      return;
    }
    const blob = blobs.get(decodeURIComponent(digest));
    if (blob === undefined) response.writeHead(404).end();
    else if (registry.stallAfter === undefined || blob.length < registry.stallAfter) {
      send(response, blob, "application/octet-stream");
    } else {
      response.writeHead(200, { "content-length": blob.length });
      response.write(blob.subarray(0, registry.stallAfter));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  registry.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return registry;
}

function send(response: ServerResponse, bytes: Buffer, type: string): void {
  response.writeHead(200, { "content-type": type, "content-length": bytes.length }).end(bytes);
}
