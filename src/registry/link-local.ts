import { lookup as resolveName } from "node:dns";
import { BlockList, isIP } from "node:net";
import type { LookupFunction } from "node:net";

// Cloud machines answer there with their own credentials, so no server may send Larder there.
const linkLocal = new BlockList();
linkLocal.addSubnet("169.254.0.0", 16, "ipv4");
linkLocal.addSubnet("fe80::", 10, "ipv6");
// The same IPv4 range inside IPv6: mapped, compatible (obsolete) and through NAT64.
linkLocal.addSubnet("::ffff:169.254.0.0", 112, "ipv6");
linkLocal.addSubnet("::169.254.0.0", 112, "ipv6");
linkLocal.addSubnet("64:ff9b::169.254.0.0", 112, "ipv6");

/** The `code` of the error that `guarded` gives. */
export const linkLocalCode = "ELINKLOCAL";

/** Whether an address is of the link itself: the place of cloud metadata services. */
export function isLinkLocal(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, "").split("%", 1)[0] ?? "";
  const family = isIP(bare);
  return family !== 0 && linkLocal.check(bare, family === 6 ? "ipv6" : "ipv4");
}

/** A name lookup that fails where the name stands for a link-local address, so that no DNS trick helps. */
export function guarded(lookup: LookupFunction = resolveName): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, found, family) => {
      const addresses =
        typeof found === "string" ? [found] : (found ?? []).map((each) => each.address);
      if (error !== null || !addresses.some(isLinkLocal)) return callback(error, found, family);
      const refusal = new Error(`${hostname} stands for a link-local address`);
      callback(Object.assign(refusal, { code: linkLocalCode }), "", 4);
    });
  };
}
