/** The requests the page makes of its own process. */
import type { Finding } from "../../src/base/finding.js";
import {
  API_PREFIX,
  type ApiError,
  type ExplainedRefusal,
  type HistoryInfo,
  type Page,
} from "../../src/insight/observe/admin/contract.js";

export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const EVENTS = `${API_PREFIX}events`;

export const logIn = (token: string): Promise<unknown> => ask("login", { method: "POST", body: { token } });

/** Whether the cookie of this browser opens the API. */
export async function hasSession(): Promise<boolean> {
  try {
    await ask("session");
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return false;
    throw error;
  }
}

export const findings = async (): Promise<readonly Finding[]> => ((await ask("findings")) as Page<Finding>).items;
export const history = (): Promise<HistoryInfo> => ask("history") as Promise<HistoryInfo>;
export const closeTunnel = (id: number): Promise<unknown> => ask(`tunnels/${id}/close`, { method: "POST" });
export const drainAgent = (key: number): Promise<unknown> => ask(`agents/${key}/drain`, { method: "POST" });
export const refusal = (id: string): Promise<ExplainedRefusal> =>
  ask(`refusals/${encodeURIComponent(id)}`) as Promise<ExplainedRefusal>;

async function ask(route: string, { method = "GET", body }: { method?: string; body?: object } = {}): Promise<unknown> {
  const headers: Record<string, string> = body === undefined ? {} : { "Content-Type": "application/json" };
  const init: RequestInit = { method, headers, cache: "no-store", credentials: "same-origin" };
  const answer = await fetch(API_PREFIX + route, body === undefined ? init : { ...init, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Refused(answer.status, messageOf(text, answer.status));
  return text === "" ? undefined : JSON.parse(text);
}

function messageOf(text: string, status: number): string {
  try {
    const { error } = JSON.parse(text) as ApiError;
    return error.remedy === undefined ? error.message : `${error.message} ${error.remedy}`;
  } catch {
    return `the admin port answered ${status}`;
  }
}
