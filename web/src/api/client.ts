// Requests to the server. Paths are relative to it: the page asks nothing of any other host.
import { signal } from "@preact/signals";
import type { Problem, Session } from "./types";

export type Connection = "connecting" | "live" | "away";

/** The person of the session; null without one, undefined until the server has answered. */
export const session = signal<Session | null | undefined>(undefined);
export const connection = signal<Connection>("connecting");

/** Why a request was not answered. */
export class RequestFailure extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly retryAfter: number | null,
  ) {
    super(message);
  }
}

const AWAY = "The server does not answer.";

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send("GET", path, undefined, signal)).json()) as T;
}

export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return await (await send("GET", path, undefined, signal)).text();
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await (await send("POST", path, body, signal)).json()) as T;
}

export async function remove(path: string): Promise<void> {
  await send("DELETE", path);
}

/** Load the session; without one the page shows the login. */
export async function loadSession(): Promise<void> {
  try {
    session.value = await get<Session>("/api/session");
  } catch (error) {
    if (!(error instanceof RequestFailure) || error.code !== 401) throw error;
  }
}

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: "*/*" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const csrf = session.peek()?.csrf;
  if (method !== "GET" && csrf) headers["X-Stromboli-Csrf"] = csrf;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "same-origin",
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    connection.value = "away";
    throw new RequestFailure(0, "Unreachable", AWAY, null);
  }
  if (response.ok) return response;
  const failure = await failureOf(response);
  if (failure.code === 401 && !(method === "POST" && path === "/api/session")) session.value = null;
  throw failure;
}

async function failureOf(response: Response): Promise<RequestFailure> {
  try {
    const problem = (await response.json()) as Problem;
    return new RequestFailure(response.status, problem.reason, problem.message, problem.retryAfter);
  } catch {
    return new RequestFailure(response.status, response.statusText, `The server answered ${response.status}.`, null);
  }
}
