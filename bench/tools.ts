import type { BenchImage } from "./images.ts";

/** What one run gets to work with. */
export interface RunContext {
  readonly image: BenchImage;
  /** `127.0.0.1:5000` */
  readonly registry: string;
  /** An empty folder. */
  readonly dir: string;
  /** Paths of programs that are not on PATH. */
  readonly programs: { readonly larder: string; readonly crane: string };
}

export interface Tool {
  readonly name: "larder" | "crane" | "skopeo" | "floor";
  readonly title: string;
  /** A bash script; it runs with `dir` as its working directory. */
  readonly script: (context: RunContext) => string;
}

const reference = ({ registry, image }: RunContext): string => `${registry}/bench/${image.name}:1`;

export const tools: readonly Tool[] = [
  {
    name: "larder",
    title: "`larder import`",
    script: (context) => `
      mkdir cache
      exec '${context.programs.larder}' import --name bench --quiet \\
        --cache-path "$PWD/cache" --insecure-registry ${context.registry} ${reference(context)}`,
  },
  {
    name: "crane",
    title: "`crane export \\| tar x`",
    script: (context) => `
      mkdir out
      '${context.programs.crane}' export --insecure ${reference(context)} - | tar -x -C out`,
  },
  {
    name: "skopeo",
    title: "`skopeo copy` + `umoci unpack`",
    script: (context) => `
      skopeo copy --quiet --src-tls-verify=false docker://${reference(context)} oci:oci:bench
      umoci unpack --image oci:bench out
      ${context.image.freshDisk ? "sync -f ." : ""}`,
  },
  { name: "floor", title: "floor: `curl`, unpacker, two `sha256sum`, sync", script: floorScript },
];

/** The work that nobody can leave out, by the plainest tools: fetch, hash, inflate, hash, write. */
function floorScript({ image, registry }: RunContext): string {
  const layers = image.layers.map(({ digest }, index) => {
    const url = `http://${registry}/v2/bench/${image.name}/blobs/${digest}`;
    return `
      sha256sum <stored >stored.sum & stored=$!
      sha256sum <plain >plain.sum & plain=$!
      curl --silent --show-error --fail ${url} | tee stored | ${image.compression} -dc | tee plain >${index}.tar
      wait $stored $plain
      sync ${index}.tar`;
  });
  return ["mkfifo stored plain", ...layers].join("\n");
}
