import type { OptionSpec } from "./option.ts";

/** How a registry is reached; every verb that pulls takes these. */
export const registryOptions = [
  {
    kind: "value",
    flag: "platform",
    placeholder: "os/arch[/variant]",
    completion: ["linux/amd64", "linux/arm64", "linux/arm/v7"],
    open: true,
    otherwise: "the machine's",
    about: "Which platform's image to take",
  },
  {
    kind: "value",
    flag: "registry-config",
    placeholder: "file",
    completion: "file",
    otherwise: "$DOCKER_CONFIG, ~/.docker/config.json and the other usual places",
    about: "A docker config.json with credentials",
  },
  {
    kind: "value",
    flag: "registry-ca",
    placeholder: "path",
    completion: "file",
    otherwise: "the system's certificates alone",
    about: "A PEM file, or a directory of them, of certificate authorities to trust as well",
  },
  {
    kind: "list",
    flag: "insecure-registry",
    placeholder: "host[:port]",
    completion: "nothing",
    about: "A registry to reach over https without verification, else over plain http",
  },
  {
    kind: "list",
    flag: "registry-rewrite",
    placeholder: "from=to",
    completion: "nothing",
    about: "Fetch references under <from> from <to> instead; the longest <from> wins",
  },
] as const satisfies readonly OptionSpec[];
