/** Undefined unless the text is a TCP port, 1 to 65535. */
export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65535 ? port : undefined;
}
