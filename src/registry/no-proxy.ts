import { BlockList, isIP } from "node:net";

/**
 * Whether NO_PROXY exempts a URL. `list` is separated by commas or blanks; each entry is `*`, a
 * host (which covers its subdomains), `.suffix` or `*.suffix` (subdomains only), an address or a
 * CIDR of either family; hosts and addresses may have a port. Names are not resolved, so a CIDR
 * covers only URLs that name an address. An entry that is none of these covers nothing.
 */
export function bypassesProxy(url: URL, list: string): boolean {
  const target: Target = {
    host: url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, ""),
    port: url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port,
  };
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== "" && covers(entry, target));
}

interface Target {
  /** Lower case, as the URL parser leaves it; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: string;
}

function covers(entry: string, target: Target): boolean {
  if (entry === "*") return true;
  const subnet = /^\[?([0-9a-f.:]+)\]?\/([0-9]{1,3})$/.exec(entry);
  if (subnet !== null) return inSubnet(target.host, subnet[1] ?? "", Number(subnet[2]));
  const { host, port } = splitPort(entry);
  if (port !== undefined && port !== target.port) return false;
  return isIP(host) === 0 ? coversName(host, target.host) : sameAddress(host, target.host);
}

function splitPort(entry: string): { host: string; port: string | undefined } {
  if (isIP(entry) !== 0) return { host: entry, port: undefined };
  const [, bracketed, plain, port] = /^(?:\[(.*)\]|([^:]*))(?::([0-9]+))?$/.exec(entry) ?? [];
  return { host: bracketed ?? plain ?? "", port };
}

function coversName(pattern: string, host: string): boolean {
  const name = pattern.replace(/^\*(?=\.)/, "").replace(/\.$/, "");
  if (name === "" || isIP(host) !== 0) return false;
  return name.startsWith(".") ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}

function inSubnet(host: string, network: string, bits: number): boolean {
  const family = isIP(network);
  if (family === 0 || isIP(host) === 0 || bits > (family === 6 ? 128 : 32)) return false;
  const subnet = new BlockList();
  subnet.addSubnet(network, bits, familyOf(network));
  return subnet.check(host, familyOf(host));
}

/** By value and not by text: `2001:db8::1` and `2001:DB8:0::1` are one. */
function sameAddress(address: string, host: string): boolean {
  if (isIP(host) === 0) return false;
  const one = new BlockList();
  one.addAddress(address, familyOf(address));
  return one.check(host, familyOf(host));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
