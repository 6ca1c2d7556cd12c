// Runs inside a pod whose image has Node and nothing else: `node --input-type=module -e THIS kind port host path`.
import { connect } from "node:net";
import { connect as secure } from "node:tls";

const [kind, port, host, path] = process.argv.slice(1);
const proxy = connect(Number(port), "127.0.0.1");
const answer = () => new Promise((resolve) => proxy.once("data", resolve));

async function openByHttp() {
  proxy.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`);
  const head = String(await answer());
  if (!/^HTTP\/1\.\d 200/.test(head)) throw new Error(head);
}

async function openBySocks5() {
  proxy.write(Buffer.from([5, 1, 0]));
  await answer();
  proxy.write(Buffer.from([5, 1, 0, 3, host.length, ...Buffer.from(host), 443 >> 8, 443 & 255]));
  const [, reply] = await answer();
  if (reply !== 0) throw new Error(`SOCKS5 reply ${reply}`);
}

await (kind === "http" ? openByHttp() : openBySocks5());
const tls = secure({ socket: proxy, servername: host, rejectUnauthorized: false });
tls.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
tls.pipe(process.stdout);
