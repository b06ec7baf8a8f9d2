import { defineConfig } from "rolldown";

/**
 * One entry, and beside it a folder with what it loads on demand: a file's imports, Node's own included,
 * are loaded with it, so that in one single file each command would pay for all the others.
 */
export default defineConfig({
  input: { larder: "src/cli/main.ts" },
  platform: "node",
  output: {
    dir: "dist",
    cleanDir: true,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "larder/[name].mjs",
    // What every pull needs, together: each file more is a millisecond before the first request.
    codeSplitting: {
      groups: [{ name: "common", test: /src\/(cache|image|registry)\/|src\/errors/ }],
    },
  },
});
