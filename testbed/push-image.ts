/** Pushes a built image to a registry over fetch, the plainest way the protocol allows. */
import { manifestsOf, type BuiltImage, type BuiltIndex } from "./built-image.ts";

/**
 * @param baseUrl `http://127.0.0.1:5000`
 * @param headers sent with every request, `authorization` for one
 */
export async function pushImage(
  baseUrl: string,
  repository: string,
  tag: string,
  image: BuiltImage | BuiltIndex,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const root = `${baseUrl}/v2/${repository}`;
  for (const [digest, bytes] of image.blobs) await pushBlob(root, digest, bytes, headers);
  for (const each of manifestsOf(image)) {
    await pushManifest(`${root}/manifests/${each.digest}`, each, headers);
  }
  await pushManifest(`${root}/manifests/${tag}`, image, headers);
}

async function pushBlob(
  root: string,
  digest: string,
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const started = await expectStatus(`${root}/blobs/uploads/`, 202, { method: "POST", headers });
  const location = started.headers.get("location");
  if (location === null) throw new Error(`${root}: the upload has no location`);
  const target = new URL(location, root);
  target.searchParams.set("digest", digest);
  await expectStatus(target.href, 201, {
    method: "PUT",
    headers: { ...headers, "content-type": "application/octet-stream" },
    body: new Uint8Array(bytes),
  });
}

async function pushManifest(
  url: string,
  image: BuiltImage | BuiltIndex,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  await expectStatus(url, 201, {
    method: "PUT",
    headers: { ...headers, "content-type": image.mediaType },
    body: new Uint8Array(image.manifest),
  });
}

async function expectStatus(url: string, status: number, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const body = await response.text();
  if (response.status !== status) {
    throw new Error(
      `${init.method ?? "GET"} ${url}: ${response.status} in place of ${status}: ${body}`,
    );
  }
  return response;
}
