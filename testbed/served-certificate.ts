import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:tls";

/** Whether a server on a port of 127.0.0.1 shows this certificate (PEM) to new connections. */
export async function serves(port: number, certificate: string): Promise<boolean> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect");
    const shown = socket.getPeerX509Certificate();
    return shown?.fingerprint256 === new X509Certificate(certificate).fingerprint256;
  } finally {
    socket.destroy();
  }
}
