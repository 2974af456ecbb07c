import { AppError } from '../errors.ts';
import { inTime, succeeds } from '../pacing/time-limit.ts';
import type { ExchangeContext } from './exchange-context.ts';
import type { Handler } from './paths.ts';
import { requestIdOf } from './request-head.ts';
import { errorResponse, type Response, write } from './respond.ts';
import type { HttpRequest, HttpResponse } from './uws.ts';

const ok = (status: string): Response => ({ status: 200, json: JSON.stringify({ status }) });

const withLists = (response: Response, lists: Readonly<Record<string, readonly string[]>>): Response => {
  const added = Object.entries(lists).filter(([, list]) => list.length > 0);
  const body = { ...(JSON.parse(response.json!) as object), ...Object.fromEntries(added) };
  return { ...response, json: JSON.stringify(body) };
};

const sentId = (req: HttpRequest): string => requestIdOf(req.getHeader('x-request-id'));

export const healthHandler =
  (context: ExchangeContext) =>
  (headOnly: boolean): Handler =>
  (res, req) =>
    write(res, ok('ok'), { head: headOnly, close: context.closes, requestId: sentId(req), cors: context.cors });

interface Ready {
  readiness: () => Promise<Readiness>;
  /** Sentences about what is not served although the process is ready. */
  notices: () => readonly string[];
}

/** `/readyz`: 200, or 503 with what is missing or while draining. */
export const readyHandler =
  (context: ExchangeContext, ready: Ready) =>
  (headOnly: boolean): Handler =>
  (res, req) =>
    void answerReady(res, { context, ready, headOnly, requestId: sentId(req) });

async function answerReady(
  res: HttpResponse,
  options: { context: ExchangeContext; ready: Ready; headOnly: boolean; requestId: string },
): Promise<void> {
  const { context, ready, headOnly, requestId } = options;
  const { readiness, notices } = ready;
  let aborted = false;
  res.onAborted(() => {
    aborted = true;
  });
  const { missing, degraded }: Readiness = context.draining ? { missing: [], degraded: [] } : await readiness();
  if (aborted) return;
  const isReady = missing.length === 0 && !context.draining;
  const sentence = context.draining ? 'Shutting down' : `Not ready: ${missing.join(', ')}`;
  const answer = isReady ? ok('ready') : errorResponse(new AppError('unavailable', sentence));
  const response = withLists(answer, { degraded, notices: notices() });
  write(res, response, { head: headOnly, close: context.closes, requestId, cors: context.cors });
}

/** `/metrics`: the result of `read` in the Prometheus text format; 503 if it is not available. */
export const metricsHandler =
  (context: ExchangeContext, read: () => Promise<string>) =>
  (headOnly: boolean): Handler =>
  (res, req) =>
    void answerMetrics(res, { context, read, headOnly, requestId: sentId(req) });

async function answerMetrics(
  res: HttpResponse,
  options: { context: ExchangeContext; read: () => Promise<string>; headOnly: boolean; requestId: string },
): Promise<void> {
  const { context, read, headOnly, requestId } = options;
  let aborted = false;
  res.onAborted(() => {
    aborted = true;
  });
  const text = await read().catch(() => null);
  if (aborted) return;
  const response: Response =
    text === null
      ? errorResponse(new AppError('unavailable', 'The metrics cannot be read now'))
      : { status: 200, json: text, contentType: 'text/plain; version=0.0.4; charset=utf-8' };
  write(res, response, { head: headOnly, close: context.closes, requestId, cors: context.cors });
}

export interface ReadinessCheck {
  /** Whether the dependency is healthy, as far as this process knows; or a query to it, which rejects if it is not. */
  check: () => boolean | Promise<unknown>;
  /** Whether events cannot be accepted without it. Otherwise the process is only degraded. */
  needed: boolean;
}

/** Dependencies of this process that are not healthy, by the names of their checks. */
export interface Readiness {
  /** Without these, events cannot be accepted, and the process is not ready. */
  missing: readonly string[];
  /** Without these, some requests are refused or take longer. */
  degraded: readonly string[];
}

/** The time limit of a query. */
const QUERY_MS = 2_000;
/** How long a probe waits for its query if there is a recent answer. A server that has stopped refuses at once. */
const PATIENCE_MS = 50;
/** How long the last answer to a query is used, longer than the usual interval of probes. Each use queries again. */
const RECENT_MS = 15_000;

/**
 * Names failed checks without reasons. Never rejects. Waits at most 50 ms for a query that has an answer of the last 15 s,
 * so that a probe does not wait behind other work, or for a server that hangs. `queryMs`: a longer query counts as failed.
 */
export function createReadiness(
  checks: Readonly<Record<string, ReadinessCheck>>,
  queryMs = QUERY_MS,
): () => Promise<Readiness> {
  const states = Object.entries(checks).map(([name, { check, needed }]) => ({
    name,
    needed,
    isWell: lately(check, queryMs),
  }));
  return async () => {
    const outcomes = states.map(({ isWell }) => isWell());
    const failed: typeof states = [];
    for (const [index, state] of states.entries()) if (!(await outcomes[index])) failed.push(state);
    const named = (isNeeded: boolean): string[] =>
      failed.flatMap(({ name, needed }) => (needed === isNeeded ? [name] : []));
    return { missing: named(true), degraded: named(false) };
  };
}

/** Whether a dependency is healthy, according to a recent answer if there is one. Concurrent calls share a query. */
function lately(check: ReadinessCheck['check'], queryMs: number): () => boolean | Promise<boolean> {
  let last: { isWell: boolean; atMs: number } | null = null;
  let running: Promise<boolean> | null = null;
  const query = async (answer: Promise<unknown>): Promise<boolean> => {
    const isWell = await inTime(succeeds(answer), queryMs, false);
    last = { isWell, atMs: performance.now() };
    running = null;
    return isWell;
  };
  return () => {
    if (running === null) {
      const outcome = attempt(check);
      if (typeof outcome === 'boolean') return outcome;
      running = query(outcome);
    }
    return last !== null && performance.now() - last.atMs < RECENT_MS
      ? inTime(running, PATIENCE_MS, last.isWell)
      : running;
  };
}

function attempt(check: ReadinessCheck['check']): boolean | Promise<unknown> {
  try {
    return check();
  } catch {
    return false;
  }
}
