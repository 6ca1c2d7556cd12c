/** /debug/pprof: upstream's paths, with what a Node process can give: Chrome's CPU profile and heap snapshot. */
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { type HttpRequest, type Route, redirect, sendText } from "../../base/http.js";

const DEFAULT_SECONDS = 30;
const MAX_SECONDS = 300;

const INDEX = `<html>
<head><title>/debug/pprof/</title></head>
<body>
<p>Profiles of this process, for the DevTools of Chrome or Visual Studio Code.</p>
<ul>
<li><a href="profile?seconds=${DEFAULT_SECONDS}">profile</a>: where CPU time goes, for <code>seconds</code> (at most ${MAX_SECONDS}); save as <code>.cpuprofile</code></li>
<li><a href="heap">heap</a>: everything in memory, secrets included, so the admin token is needed; save as <code>.heapsnapshot</code>; all tunnels pause while it is made</li>
</ul>
</body>
</html>
`;

/** `guard` protects the routes that give away secrets. */
export function profilingRoutes(guard: (route: Route) => Route): [exact: [string, Route][], prefix: [string, Route]] {
  return [
    [
      ["/debug/pprof", (request, response) => redirect(request, response, "/debug/pprof/")],
      ["/debug/pprof/", sendIndex],
      ["/debug/pprof/profile", cpuProfileRoute()],
      ["/debug/pprof/heap", guard(sendHeap)],
    ],
    ["/debug/pprof/", (_request, response) => sendText(response, 404, "Unknown profile\n", NOSNIFF)],
  ];
}

const NOSNIFF = { "X-Content-Type-Options": "nosniff" };

function sendIndex(_request: HttpRequest, response: ServerResponse): void {
  sendText(response, 200, INDEX, { ...NOSNIFF, "Content-Type": "text/html; charset=utf-8" });
}

async function sendHeap(_request: HttpRequest, response: ServerResponse): Promise<void> {
  const { getHeapSnapshot } = await import("node:v8");
  response.writeHead(200, download("drawbridge.heapsnapshot"));
  await pipeline(getHeapSnapshot(), response);
}

/** One profile at a time. */
function cpuProfileRoute(): Route {
  let busy = false;
  return async ({ query }, response) => {
    const seconds = Number(query.get("seconds") ?? DEFAULT_SECONDS);
    if (!(seconds > 0 && seconds <= MAX_SECONDS)) {
      return sendText(response, 400, `seconds must be a number above 0 and at most ${MAX_SECONDS}\n`, NOSNIFF);
    }
    if (busy) {
      return sendText(response, 409, "another CPU profile is being taken; try again when it is done\n", NOSNIFF);
    }
    busy = true;
    try {
      const profile = await cpuProfile(seconds * 1000, response);
      if (response.destroyed) return;
      response.writeHead(200, { ...download("drawbridge.cpuprofile"), "Content-Length": Buffer.byteLength(profile) });
      response.end(profile);
    } finally {
      busy = false;
    }
  };
}

/** Ends early when the client goes away. */
async function cpuProfile(forMs: number, response: ServerResponse): Promise<string> {
  const { Session } = await import("node:inspector/promises");
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, forMs);
      response.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    const { profile } = await session.post("Profiler.stop");
    return JSON.stringify(profile);
  } finally {
    session.disconnect();
  }
}

function download(fileName: string): Record<string, string> {
  return {
    ...NOSNIFF,
    "Content-Type": "application/json",
    "Content-Disposition": `attachment; filename="${fileName}"`,
    "Cache-Control": "no-store",
  };
}
