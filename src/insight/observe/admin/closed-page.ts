/** What a browser gets at an admin port that has no token file; everybody else gets upstream's answer. */
import { notFound, type Route } from "../../../base/http.js";
import type { Role } from "./contract.js";
import { type LivePage, livePage } from "./page-file.js";

const PROGRAMS: Record<Role, string> = {
  server: "proxy-server",
  agent: "proxy-agent",
  sidecar: "sidecar",
  ignition: "ignition server",
  overview: "drawbridge page",
};

const pageFor = (role: Role): LivePage =>
  livePage(
    Buffer.from(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Closed · drawbridge</title>
    <style>
      body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; max-width: 640px; margin: 15vh auto 0; padding: 0 16px; }
      pre { font-size: 14px; border: 1px solid; border-radius: 6px; padding: 10px 12px; white-space: pre-wrap; overflow-wrap: anywhere; }
    </style>
  </head>
  <body>
    <main>
      <h1>The live page is closed</h1>
      <p>This is the admin port of a ${PROGRAMS[role]}. Its page and its API open with a token, and it was started without one.</p>
      <ol>
        <li>Make a file with a token: <pre>(umask 077 &amp;&amp; head -c 24 /dev/urandom | base64 &gt; admin-token)</pre></li>
        <li>Start the process again with one more flag: <pre>--admin-token-file=admin-token</pre></li>
        <li>Load this page again, and paste what is in the file.</li>
      </ol>
      <p>The metrics need no token: <a href="/metrics">/metrics</a>.</p>
    </main>
  </body>
</html>
`),
  );

export function closedPageRoute(role: () => Role): Route {
  return (request, response) => {
    if (request.message.headers.accept?.includes("text/html") !== true) return notFound(request, response);
    const { html, csp } = pageFor(role());
    response.writeHead(404, {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Length": html.length,
      "Content-Security-Policy": csp,
      "X-Content-Type-Options": "nosniff",
      "Cache-Control": "no-store",
      Vary: "Accept",
    });
    response.end(request.message.method === "HEAD" ? undefined : html);
  };
}
